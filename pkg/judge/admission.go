package judge

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/release"
)

// Admission is a request to change or delete a locked object, before it happens, and what it is judged by.
type Admission struct {
	// Input has what is known of the object; Live and Last do not count. Its Release is the one that the object is to
	// say it belongs to, and Locked the one that is locked: its record may be stored in another namespace.
	Input
	Locked release.Key
	// Before is the object as it is; nil for a change that is Harmless. After is the object as the request makes it;
	// nil for a deletion. For a request about the subresource scale both are a Scale, whose spec has the replicas where
	// the object has them; all else that it lacks, it lacks before and after.
	Before, After *unstructured.Unstructured
	// Guard is what the lock asks for, and Exempt are those who may pass.
	Guard  v1alpha1.Guard
	Exempt []v1alpha1.GuardSubject
	// Account is the user in whose name the operator writes the object; empty for its own.
	Account string
	// By is who sends the request.
	By Requester
	// DryRun is set for a request that the API server does not carry out.
	DryRun bool
}

// Requester is who sends a request, as the API server knows them.
type Requester struct {
	User   string
	Groups []string
}

// AdmissionReason says why a request passes, or why it may not.
type AdmissionReason string

// The reasons for which a request passes.
const (
	// AdmitOff says that no guard is asked for.
	AdmitOff AdmissionReason = "Off"
	// AdmitExempt says that the HelmRelease exempts who sent the request.
	AdmitExempt AdmissionReason = "ExemptSubject"
	// AdmitCluster says that a controller of Kubernetes sent the request.
	AdmitCluster AdmissionReason = "ClusterController"
	// AdmitOwn says that the operator may have sent it, in the name of the account of the release.
	AdmitOwn AdmissionReason = "OwnAccount"
	// AdmitOtherRelease says that the object belongs to another release already.
	AdmitOtherRelease AdmissionReason = "OtherRelease"
	// AdmitNoDrift says that the request makes nothing depart from what Helm deployed that did not before.
	AdmitNoDrift AdmissionReason = "NoDrift"
	// AdmitBeingDeleted says that the deletion of the object is pending already.
	AdmitBeingDeleted AdmissionReason = "BeingDeleted"
	// AdmitNotRecreated says that the object is one that stays away once it is gone: a Job that has run.
	AdmitNotRecreated AdmissionReason = "NotRecreated"
	// AdmitHelm says that Helm may be at work. Only the API server knows that, see the caller of Admit.
	AdmitHelm AdmissionReason = "HelmAtWork"
	// AdmitNamespaceGoes says that the namespace of the object is being deleted.
	AdmitNamespaceGoes AdmissionReason = "NamespaceBeingDeleted"
	// AdmitUnlocked says that no lock owns the object.
	AdmitUnlocked AdmissionReason = "NotLocked"
	// AdmitUnknown says that something could not be found out in time.
	AdmitUnknown AdmissionReason = "NotKnown"
)

// The reasons for which a request does not pass, unless Helm is at work.
const (
	// StopChange says that the request makes something depart from what Helm deployed.
	StopChange AdmissionReason = "Drift"
	// StopDeletion says that the request deletes the object.
	StopDeletion AdmissionReason = "Deletion"
)

// Admit returns why a request may pass as far as its content and its sender tell, or why it may not, and then what it
// would change. A request that may not pass is still to be checked against the record of the release: it may be Helm's.
func Admit(a Admission) (AdmissionReason, []drift.Change) {
	switch {
	case a.Guard != v1alpha1.GuardWarn && a.Guard != v1alpha1.GuardDeny:
		return AdmitOff, nil
	case a.By.isOneOf(a.Exempt):
		return AdmitExempt, nil
	case a.By.collects(), a.After == nil && a.By.isOfCluster():
		return AdmitCluster, nil
	case a.After != nil && a.Before == nil: // Harmless, so the caller has not decoded it
		return AdmitNoDrift, nil
	case a.belongsElsewhere():
		return AdmitOtherRelease, nil
	}
	if a.After == nil {
		return a.deletion(), nil
	}
	if changes := a.introduced(); len(changes) > 0 {
		return StopChange, changes
	}
	return AdmitNoDrift, nil
}

// Harmless reports whether a change leaves the object as Helm deployed it. That is what most requests do, and it can
// be told without Before.
func (a *Admission) Harmless() bool {
	return a.After != nil && len(a.afterwards().Changes) == 0
}

// afterwards compares the object as the request makes it.
func (a *Admission) afterwards() Result {
	in := a.Input
	in.Live, in.Last, in.First = a.After, nil, false
	return in.compared()
}

// deletion judges a request to delete the object.
func (a *Admission) deletion() AdmissionReason {
	switch {
	case a.Account != "" && a.By.User == a.Account:
		return AdmitOwn // the operator replaces the object, or takes its own creation back
	case a.Before.GetDeletionTimestamp() != nil:
		return AdmitBeingDeleted
	case ranAlready(a.ID, a.Desired, a.Before) != "":
		return AdmitNotRecreated
	}
	return StopDeletion
}

// introduced returns what the request makes depart from the desired state that did not before. What departs before is
// learnt as if it were normal, so that a change beside it, or one that repairs it, has nothing new.
func (a *Admission) introduced() []drift.Change {
	in, found := a.Input, a.afterwards()
	if len(found.Changes) == 0 {
		return nil
	}
	in.Live = a.After
	options := found.Options
	options.Accepted, options.Strict = nil, in.strict(a.Before)
	learnt := drift.Learn(found.Desired, a.Before.Object, options)
	options.Accepted, options.Strict = learnt, found.Options.Strict
	since := drift.Compare(found.Desired, a.After.Object, options).Changes

	options.Strict = in.strict(a.Before)
	options.Accepted = in.Baseline
	before := drift.Compare(found.Desired, a.Before.Object, options).Changes
	return slices.DeleteFunc(found.Changes, func(c drift.Change) bool {
		// What takes the place of something declared is not learnt.
		return !slices.Contains(since, c) || c.Op == drift.Added && slices.Contains(before, c)
	})
}

// belongsElsewhere reports whether the object says that it belongs to another release before the request.
func (a *Admission) belongsElsewhere() bool {
	in := a.Input
	in.Live = a.Before
	return in.claimant() != release.Key{}
}

// Claims returns the other release that the request gives the object to; the zero Key for none.
func (a *Admission) Claims() release.Key {
	if a.After == nil {
		return release.Key{}
	}
	in := a.Input
	in.Live = a.After
	return in.claimant()
}

// isOneOf reports whether a list of subjects names the requester.
func (r *Requester) isOneOf(subjects []v1alpha1.GuardSubject) bool {
	return slices.ContainsFunc(subjects, func(s v1alpha1.GuardSubject) bool {
		switch s.Kind {
		case v1alpha1.GuardSubjectUser:
			return r.User == s.Name
		case v1alpha1.GuardSubjectGroup:
			return slices.Contains(r.Groups, s.Name)
		case v1alpha1.GuardSubjectServiceAccount:
			return r.User == "system:serviceaccount:"+s.Namespace+":"+s.Name
		}
		return false
	})
}

// collectors finish deletions that other requests asked for. Without service accounts for its controllers, the
// controller manager is one user.
var collectors = []string{
	"system:serviceaccount:kube-system:generic-garbage-collector",
	"system:serviceaccount:kube-system:namespace-controller",
	"system:kube-controller-manager", "system:apiserver",
}

// collects reports whether whatever the requester does must pass, lest a deletion hang.
func (r *Requester) collects() bool { return slices.Contains(collectors, r.User) }

// isOfCluster reports whether the requester is a part of Kubernetes, which deletes objects to keep the cluster working:
// pods of a node that is gone, or in the way of more important ones.
func (r *Requester) isOfCluster() bool {
	return r.User == "system:kube-scheduler" || slices.Contains(r.Groups, "system:nodes") ||
		slices.Contains(r.Groups, "system:serviceaccounts:kube-system")
}
