package judge

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/drift"
)

// Unsettled is an Unclear result and its input. Each method returns the result by one more source of knowledge.
type Unsettled struct {
	in Input
	r  Result
}

// Unsettled returns r, the Unclear result for the input, to be settled.
func (in Input) Unsettled(r Result) Unsettled { return Unsettled{in, r} }

// AfterDryRun uses the answer to a dry run of the revert. Its remaining differences are the API server's form of the
// applied object. An injected list element that is not in the answer is
// normal as it is: no webhook injects it now.
func (u Unsettled) AfterDryRun(after *unstructured.Unstructured) Result {
	learning := u.r.Options
	learning.Strict = u.in.strict(after)
	learnt := drift.Learn(u.r.Desired, after.Object, learning)
	if !u.r.Unproven {
		return u.accepting(learnt, u.r.Options.Accepted)
	}
	return u.accepting(u.form().Injected(), learnt, u.r.Options.Accepted.WithoutInjected())
}

// WithoutUnproven does without an answer to a dry run of the revert: injected list elements are normal as they are.
func (u Unsettled) WithoutUnproven() Result {
	if !u.r.Unproven {
		return u.r
	}
	return u.accepting(u.r.Options.Accepted, u.form().Injected())
}

// Locally does without a dry run, for commands and the page. It accepts the API server's values of fields that are
// declared as unset.
func (u Unsettled) Locally() Result {
	unset := u.r.Owner.Unset(u.r.managed, u.r.Desired, u.in.Live.Object, u.r.Changes, u.in.Schema)
	if len(unset) == 0 {
		return u.r
	}
	return u.accepting(u.r.Options.Accepted, u.form().At(unset))
}

// Recall uses earlier settled forms: remembered reports whether an entry of the baseline of the live object is in them.
func (u Unsettled) Recall(remembered func(entry string) bool) Result {
	return u.accepting(u.form().Select(remembered))
}

// Excuse uses the managed fields of the live object, if no form was remembered: see Owner.LeftByHelm of package drift.
// fresh is set right after the revision was deployed. Helm may then have left less than it declares, so nothing is
// excused: the dry run shows the form of the object as Helm has just got it.
func (u Unsettled) Excuse(deployed metav1.Time, fresh bool) Result {
	if fresh {
		return u.r
	}
	excused := u.r.Owner.LeftByHelm(u.r.managed, u.r.Desired, u.in.Live.Object, u.r.Changes, deployed)
	if len(excused) == 0 {
		return u.r
	}
	r := u.accepting(u.r.Options.Accepted, u.form().At(excused))
	r.Excused = true
	return r
}

// form returns all differences of the live object as normal ones.
func (u Unsettled) form() drift.Baseline {
	return drift.Learn(u.r.Desired, u.in.Live.Object, u.r.Options)
}

// accepting returns a result that accepts the entries of some baselines as normal. The later baseline wins.
func (u Unsettled) accepting(baselines ...drift.Baseline) Result {
	r, live := u.r, u.in.Live.Object
	accepted := drift.Baseline{}
	for _, b := range baselines {
		maps.Copy(accepted, b)
	}
	r.Options.Accepted = accepted
	r.Result = drift.Compare(r.Desired, live, r.Options)
	r.decide()
	if r.State != Drifted {
		r.Baseline = drift.Learn(r.Desired, live, r.Options)
	}
	u.in.owned(&r)
	return r
}
