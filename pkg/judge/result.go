package judge

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/managers"
	"github.com/rancher/helm-locker/pkg/release"
)

// State is the state of an object compared with the manifest that Helm deployed.
type State string

// Result is the answer to one Input.
type Result struct {
	State State
	// Why is the reason for NotRecreated.
	Why string
	// Claimant is the other release in the object's metadata; zero for none. If the newest record of that release
	// declares the object, the object is left alone.
	Claimant release.Key
	// Deletion describes a pending deletion; empty for none.
	Deletion string
	// Result has the differences from the desired state. Only Unclear and Drifted have some.
	drift.Result
	// Desired is the state to restore: the input's, with an autoscaler's choice of replicas and without done
	// finalizers.
	Desired map[string]any
	// Options are the rules of the comparison.
	Options drift.Options
	// Owner is Helm's field manager on the object. Unfinished is set when the content is as declared, but Helm does not
	// own all of it by server-side apply yet, because an earlier revert was not completed.
	Owner      drift.Owner
	Unfinished bool
	// Baseline holds the normal departures of the object, and Chosen the number of its replicas, if an autoscaler may
	// choose it.
	Baseline drift.Baseline
	Chosen   *int64
	// Excused is set when managed fields alone justify a part of Baseline: see Excuse.
	Excused bool

	managed []metav1.ManagedFieldsEntry // those of the input
}

const (
	// InSync means that the object is as declared, or in the API server's form of the declared state.
	InSync State = "InSync"
	// BeingDeleted means that the content is as declared, and the deletion of the object is pending.
	BeingDeleted State = "BeingDeleted"
	// Unclear means that the differences may be only normalization: the API server's form of the applied object, or a
	// webhook's form of an injected element. A dry run of the revert decides: see AfterDryRun.
	Unclear State = "Unclear"
	// Drifted means that the object was changed.
	Drifted State = "Drifted"
	// Missing means that the object does not exist, and is to be created.
	Missing State = "Missing"
	// NotRecreated means that the object does not exist, and is not to be created, by the reason in Result.Why.
	NotRecreated State = "NotRecreated"
)

// decide sets the state by the changes, the owner, and a pending deletion.
func (r *Result) decide() {
	r.Unfinished = false
	switch {
	case len(r.Changes) > 0:
		r.State = Drifted
	case r.Deletion != "":
		r.State = BeingDeleted
	default:
		r.State = InSync
		r.Unfinished = r.Owner.Operation == metav1.ManagedFieldsOperationApply && managers.Unfinished(r.managed)
	}
}

// Additions returns the undeclared fields and list elements of r.Target that a revert may remove, when the API server
// accepts none of the declared values beside them.
func (in Input) Additions(r Result) []drift.Addition {
	return drift.Additions(r.Desired, r.Target, r.managed, in.Rules.Keeps, r.Options)
}

// Without returns r after the removal of additions from its target. The removals are among its changes.
func (r Result) Without(additions []drift.Addition) Result {
	if len(additions) == 0 {
		return r
	}
	r.Target, r.RemovesForeign, r.Changes = drift.Without(r.Target, additions), true, slices.Clone(r.Changes)
	for _, a := range additions {
		r.Changes = append(r.Changes, a.Change)
	}
	return r
}

// Leaving returns the input for another judgement without the given changes: it neither compares nor writes them.
func (in Input) Leaving(changes []drift.Change) Input {
	in.First, in.Left = false, make([][]string, 0, len(changes))
	for _, ch := range changes {
		in.Left = append(in.Left, ch.Segments())
	}
	return in
}

// left reports whether a path is one of Left, or below one.
func (in *Input) left(path []string) bool {
	return slices.ContainsFunc(in.Left, func(l []string) bool {
		return len(path) >= len(l) && slices.Equal(path[:len(l)], l)
	})
}
