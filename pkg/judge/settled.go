package judge

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/drift"
)

// AfterDryRun returns what an Unclear result is. after is what the API server would make of the object by a revert.
// What is different even then is the form that the API server gives to what Helm applied.
func (in Input) AfterDryRun(r Result, after *unstructured.Unstructured) Result {
	learning := r.Options
	learning.Strict = in.strict(after)
	return in.accepting(r, drift.Learn(r.Desired, after.Object, learning), r.Options.Accepted)
}

// Recall returns what an Unclear result is by what was settled before: remembered reports whether an entry of the
// baseline of the live object was.
func (in Input) Recall(r Result, remembered func(entry string) bool) Result {
	return in.accepting(r, drift.Learn(r.Desired, in.Live.Object, r.Options).Select(remembered))
}

// Excuse returns what an Unclear result is by the managed fields of the live object, where nothing was remembered:
// see drift.LeftByHelm. fresh is set right after the revision was deployed. Helm may then have left less than it
// declares, so nothing is excused: the dry run shows the form of the object as Helm has just got it.
func (in Input) Excuse(r Result, deployed metav1.Time, fresh bool) Result {
	if fresh {
		return r
	}
	excused := drift.LeftByHelm(r.managed, r.Desired, in.Live.Object, r.Changes, deployed)
	if len(excused) == 0 {
		return r
	}
	r = in.accepting(r, r.Options.Accepted, drift.Learn(r.Desired, in.Live.Object, r.Options).At(excused))
	r.Excused = true
	return r
}

// accepting returns a result by which what is in some baselines is normal. A later one counts where two differ.
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
	return r
}
