package judge

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/release"
)

// AdmissionReason is the reason why a request passes, or why it may not.
type AdmissionReason string

// The reasons to let a request pass.
const (
	// AdmitOff means that the guard is off.
	AdmitOff AdmissionReason = "Off"
	// AdmitObserved means that the guard only observes.
	AdmitObserved AdmissionReason = "Observed"
	// AdmitExempt means that the HelmRelease exempts the sender of the request.
	AdmitExempt AdmissionReason = "ExemptSubject"
	// AdmitCluster means that a controller of Kubernetes sent the request.
	AdmitCluster AdmissionReason = "ClusterController"
	// AdmitOwn is for the deletion of a drifted object, possibly by the operator, which re-creates it under the account
	// of the release.
	AdmitOwn AdmissionReason = "OwnAccount"
	// AdmitOtherRelease is for an object that belongs to another release already. As with AdmitHelm, see the caller of
	// Admit.
	AdmitOtherRelease AdmissionReason = "OtherRelease"
	// AdmitNoDrift means that the request adds no difference from the deployed manifest.
	AdmitNoDrift AdmissionReason = "NoDrift"
	// AdmitBeingDeleted means that the deletion of the object is pending already.
	AdmitBeingDeleted AdmissionReason = "BeingDeleted"
	// AdmitNotRecreated means that the lock would not re-create the object: a finished Job or Pod, or a deletion in
	// spec.ignore.
	AdmitNotRecreated AdmissionReason = "NotRecreated"
	// AdmitHelm means that Helm may be at work. Only the API server knows that, see the caller of Admit.
	AdmitHelm AdmissionReason = "HelmAtWork"
	// AdmitNamespaceGoes means that the namespace of the object is being deleted.
	AdmitNamespaceGoes AdmissionReason = "NamespaceBeingDeleted"
	// AdmitOutdated means that the object of the request was replaced by another one.
	AdmitOutdated AdmissionReason = "Outdated"
	// AdmitUnlocked means that no lock owns the object.
	AdmitUnlocked AdmissionReason = "NotLocked"
	// AdmitUnknown means that a read did not succeed in time.
	AdmitUnknown AdmissionReason = "NotKnown"
)

// The reasons to stop a request, unless Helm is at work.
const (
	// StopChange means that the request adds a difference from the deployed manifest.
	StopChange AdmissionReason = "Drift"
	// StopDeletion means that the request deletes the object.
	StopDeletion AdmissionReason = "Deletion"
)

// Admit returns the reason why a request may pass, by its content and its sender. Otherwise it returns the reason why
// it may not, and the changes. The caller must still check a stopped request against the record of the release: it may
// be Helm's.
func Admit(a Admission) (AdmissionReason, []drift.Change) {
	switch {
	case !a.Guard.IsOn():
		return AdmitOff, nil
	case a.Guard == v1alpha1.GuardObserve: // every sender is of interest
	case a.By.IsOneOf(a.Exempt):
		return AdmitExempt, nil
	case a.By.collects(), a.After == nil && a.By.isOfCluster():
		return AdmitCluster, nil
	}
	if a.After != nil && a.Before == nil { // Harmless, so the caller has not decoded it
		return AdmitNoDrift, nil
	}
	if a.After == nil {
		return a.deletion(), nil
	}
	if a.endsJob() {
		return StopChange, []drift.Change{{Path: "/status/conditions", Op: drift.Modified}}
	}
	changes := a.introduced()
	if len(changes) == 0 {
		changes = a.shortened()
	}
	if len(changes) > 0 {
		return StopChange, changes
	}
	return AdmitNoDrift, nil
}

// Harmless reports whether a change leaves the object as Helm deployed it. Most requests do, and the check does not
// need Before. An object that runs once can be ended without a drift, so it needs the whole judgement.
func (a *Admission) Harmless() bool {
	return a.After != nil && len(a.afterwards().Changes) == 0 && !RunsOnce(a.ID, a.Desired)
}

// deletion judges a request to delete the object.
func (a *Admission) deletion() AdmissionReason {
	switch {
	case a.Before.GetDeletionTimestamp() != nil:
		return AdmitBeingDeleted
	case a.Rules.Deletion() || a.hasRun(a.Before):
		return AdmitNotRecreated
	case a.replaces():
		return AdmitOwn
	}
	return StopDeletion
}

// replaces reports whether the operator may have sent the deletion, in the name of the account of the release, to
// re-create the object. It only replaces a drifted object: any Pod may have a token of the account.
func (a *Admission) replaces() bool {
	if !a.ReplaceImmutable || a.Account == "" || a.By.User != a.Account {
		return false
	}
	in := a.Input
	in.Live, in.Last = a.Before, nil
	return len(in.compared().Changes) > 0
}

// Added returns the judgement of an object that differs from the manifest before and after the request, and the
// undeclared fields that the request adds to it or changes in it. Beside these, the API server may refuse the revert.
func (a *Admission) Added() (Input, Result, []drift.Addition) {
	if a.After == nil || a.Before == nil || a.After.GetKind() == "Scale" {
		return Input{}, Result{}, nil
	}
	additions := func(object *unstructured.Unstructured) (Input, Result, []drift.Addition) {
		in := a.Input
		in.Live, in.Last, in.First, in.managed = object.DeepCopy(), nil, false, object.GetManagedFields()
		in.Live.SetManagedFields(a.Before.GetManagedFields()) // a target differs from Before in its content only
		r := in.compared()
		if r.managed = in.managed; len(r.Changes) == 0 {
			return in, r, nil
		}
		return in, r, in.Additions(r)
	}
	in, r, after := additions(a.After)
	if len(after) == 0 {
		return in, r, nil
	}
	_, _, before := additions(a.Before)
	return in, r, slices.DeleteFunc(after, func(x drift.Addition) bool {
		return slices.ContainsFunc(before, x.Equal)
	})
}

// ClaimedBefore returns the other release in the object's metadata before the request; the zero Key for none. Claims
// returns the one after the request. Only a record of that release proves either.
func (a *Admission) ClaimedBefore() release.Key { return a.claimantOf(a.Before) }

// Claims is described at ClaimedBefore.
func (a *Admission) Claims() release.Key { return a.claimantOf(a.After) }

func (a *Admission) claimantOf(object *unstructured.Unstructured) release.Key {
	if object == nil {
		return release.Key{}
	}
	in := a.Input
	in.Live = object
	return in.claimant()
}
