package judge

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/drift"
)

// AfterDryRun returns the result for an Unclear one. after is the answer to a dry run of the revert. Its remaining
// differences are the API server's form of the applied object. An injected list element that is not in the answer is
// normal as it is: no webhook injects it now.
func (in Input) AfterDryRun(r Result, after *unstructured.Unstructured) Result {
	learning := r.Options
	learning.Strict = in.strict(after)
	learnt := drift.Learn(r.Desired, after.Object, learning)
	if !r.Unproven {
		return in.accepting(r, learnt, r.Options.Accepted)
	}
	return in.accepting(r, in.injected(r), learnt, r.Options.Accepted.WithoutInjected())
}

// WithoutUnproven returns the result for an Unclear one without an answer to a dry run of the revert: injected list
// elements are normal as they are.
func (in Input) WithoutUnproven(r Result) Result {
	if !r.Unproven {
		return r
	}
	return in.accepting(r, r.Options.Accepted, in.injected(r))
}

func (in Input) injected(r Result) drift.Baseline {
	return drift.Learn(r.Desired, in.Live.Object, r.Options).Injected()
}

// Locally returns the result for an Unclear one without a dry run, for commands and the page. It accepts the API
// server's values of fields that are declared as unset.
func (in Input) Locally(r Result) Result {
	unset := r.Owner.Unset(r.managed, r.Desired, in.Live.Object, r.Changes, in.Schema)
	if len(unset) == 0 {
		return r
	}
	return in.accepting(r, r.Options.Accepted, drift.Learn(r.Desired, in.Live.Object, r.Options).At(unset))
}

// Recall returns the result for an Unclear one from earlier settled forms: remembered reports whether an entry of the
// baseline of the live object is in them.
func (in Input) Recall(r Result, remembered func(entry string) bool) Result {
	return in.accepting(r, drift.Learn(r.Desired, in.Live.Object, r.Options).Select(remembered))
}

// Excuse returns the result for an Unclear one from the managed fields of the live object, if no form was remembered:
// see Owner.LeftByHelm of package drift. fresh is set right after the revision was deployed. Helm may then have left
// less than it declares, so nothing is excused: the dry run shows the form of the object as Helm has just got it.
func (in Input) Excuse(r Result, deployed metav1.Time, fresh bool) Result {
	if fresh {
		return r
	}
	excused := r.Owner.LeftByHelm(r.managed, r.Desired, in.Live.Object, r.Changes, deployed)
	if len(excused) == 0 {
		return r
	}
	r = in.accepting(r, r.Options.Accepted, drift.Learn(r.Desired, in.Live.Object, r.Options).At(excused))
	r.Excused = true
	return r
}

// accepting returns a result that accepts the entries of some baselines as normal. The later baseline wins.
func (in Input) accepting(r Result, baselines ...drift.Baseline) Result {
	accepted := drift.Baseline{}
	for _, b := range baselines {
		maps.Copy(accepted, b)
	}
	r.Options.Accepted = accepted
	r.found(drift.Compare(r.Desired, in.Live.Object, r.Options))
	r.decide()
	if r.State != Drifted {
		r.Baseline = drift.Learn(r.Desired, in.Live.Object, r.Options)
	}
	in.owned(&r)
	return r
}
