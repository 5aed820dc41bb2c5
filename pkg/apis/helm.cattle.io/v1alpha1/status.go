package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Bounds of the status. They keep it small for a release of any size. They are no part of the CRD's validation: a
// rejected status would hide the very trouble it reports.
const (
	// MaxNotesBytes bounds status.notes.
	MaxNotesBytes = 4 << 10
	// MaxDescriptionBytes bounds status.description.
	MaxDescriptionBytes = 1 << 10
	// MaxConditionMessageBytes bounds the message of a condition.
	MaxConditionMessageBytes = 4 << 10
	// MaxRecentDrift bounds the number of entries in status.recentDrift.
	MaxRecentDrift = 10
	// MaxExceptions bounds the number of entries in status.exceptions.
	MaxExceptions = 20
	// MaxUserBytes bounds the name of a user in an entry of status.recentDrift.
	MaxUserBytes = 253
	// MaxPossibleUsers bounds the possible users in an entry of status.recentDrift.
	MaxPossibleUsers = 4
	// MaxUserGroups bounds the groups of a user in an entry of status.recentDrift.
	MaxUserGroups = 5
	// MaxDriftPaths bounds the number of paths in one entry of status.recentDrift.
	MaxDriftPaths = 10
)

// HelmReleaseStatus has the operator's last observations and actions.
type HelmReleaseStatus struct {
	// ObservedGeneration is the metadata.generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Shard is the label selector of the operator that manages this HelmRelease (its `--shard-selector`). It is
	// absent when one operator manages all.
	// +optional
	Shard string `json:"shard,omitempty"`

	// State sums up the newest revision of the release. Only a `Deployed` release is locked. `SecretNotFound`: the
	// release has no record. `Transitioning`: Helm is at work, or was interrupted; `transitioningSince` has the
	// beginning. `Failed`: Helm failed to install, upgrade or roll back. `Uninstalled`: Helm uninstalled the release
	// and kept its history. `Error`: the revision is deployed, and its record or manifest is not readable; the
	// condition `Ready` has the reason. `Unknown`: its status is unknown.
	// +optional
	State string `json:"state,omitempty"`

	// Version is the number of the newest revision of the release, whatever its state.
	// +optional
	Version int `json:"version,omitempty"`

	// Revision is the number of the revision whose manifest is locked now. It is absent while the release is unlocked.
	// +optional
	Revision int `json:"revision,omitempty"`

	// Description is Helm's description of the revision last read, for example `Upgrade complete`. Only deployed
	// revisions are read. It is cut off at 1 KiB.
	// +optional
	Description string `json:"description,omitempty"`

	// Notes are the rendered notes of the revision last read, cut off at 4 KiB.
	// +optional
	Notes string `json:"notes,omitempty"`

	// TransitioningSince is the time since when the newest revision has been in a `pending-*` or `uninstalling` status.
	// It is absent in any other state. A time long ago means that a Helm operation was interrupted.
	// +optional
	TransitioningSince *metav1.Time `json:"transitioningSince,omitempty"`

	// Window is the window of spec.windows that is open, or else the next one.
	// +optional
	Window *WindowStatus `json:"window,omitempty"`

	// Trust is the trust in the record of the locked revision. It is absent while the release is unlocked.
	// +optional
	Trust *TrustStatus `json:"trust,omitempty"`

	// Objects counts the objects of the locked revision. It is absent while the release is unlocked, and so its objects
	// are not compared.
	// +optional
	Objects ObjectCounts `json:"objects,omitzero"`

	// Exceptions lists the parts of the release left to others now, and why: the first 20. No exception comes from a
	// live object's own metadata.
	// +optional
	// +listType=atomic
	Exceptions []Exception `json:"exceptions,omitempty"`

	// MoreExceptions is the number of exceptions missing from the list.
	// +optional
	MoreExceptions int `json:"moreExceptions,omitempty"`

	// Conditions are the state of the lock in detail: `Ready`, `Locked`, `Drifted` and `Contended`, and while they
	// apply `Stalled` and `Reconciling`.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`

	// RecentDrift lists the last 10 changes by anyone but Helm, newest first.
	// +optional
	// +listType=atomic
	RecentDrift []DriftRecord `json:"recentDrift,omitempty"`
}

// WindowStatus is one time in which the release is unlocked. It is open from start on until before end.
type WindowStatus struct {
	// Start is when the release is unlocked.
	// +required
	Start metav1.Time `json:"start"`

	// End is when it is locked again. Windows that overlap are one.
	// +required
	End metav1.Time `json:"end"`
}

// ObjectCounts counts the objects of a locked revision.
type ObjectCounts struct {
	// Tracked is the number of objects in the locked manifest.
	// +optional
	Tracked int `json:"tracked"`

	// Drifted is the number of tracked objects that differ from the manifest now and are not restored yet.
	// +optional
	Drifted int `json:"drifted"`

	// Contended is the number of tracked objects that another party keeps changing back.
	// +optional
	Contended int `json:"contended"`

	// Waiting is the number of tracked objects that cannot be protected yet: the API server does not serve their
	// kind, or the ServiceAccount of the release may not change them.
	// +optional
	Waiting int `json:"waiting"`

	// Additions is the number of tracked objects to which others added something: a label, a variable, a container.
	// Scope Declared leaves it alone; scope Strict takes it for drift, and removes it.
	// +optional
	Additions int `json:"additions,omitempty"`

	// Unmanaged is the number of undeclared objects with the release's ownership metadata, among the watched kinds.
	// They are left alone.
	// +optional
	Unmanaged int `json:"unmanaged,omitempty"`
}

// Exception is an unprotected part of the release.
type Exception struct {
	// Object is the object of the exception.
	// +required
	Object DriftedObject `json:"object"`

	// Reason is why: `Autoscaled`, `CABundleInjected`, `RulesAggregated`, `SetByKubernetes`, `RunsOnce`,
	// `OptedOut`, `Ignored`, `LeftByHelm` or `Reserved`.
	// +required
	Reason ExceptionReason `json:"reason"`

	// Paths are the fields left alone, as JSON pointers; none for a whole object.
	// +optional
	// +listType=atomic
	Paths []string `json:"paths,omitempty"`

	// Message has details, for example the range of an autoscaler.
	// +optional
	Message string `json:"message,omitempty"`
}

// ExceptionReason is why something of a release is left to others.
type ExceptionReason string

const (
	// ExceptionAutoscaled means that a HorizontalPodAutoscaler sets the number of replicas. Within its range that is
	// no drift.
	ExceptionAutoscaled ExceptionReason = "Autoscaled"

	// ExceptionCABundle means that the manifest leaves a caBundle empty, for a controller to fill in.
	ExceptionCABundle ExceptionReason = "CABundleInjected"

	// ExceptionAggregated means that the rules of a ClusterRole with an aggregationRule are filled in by a controller.
	ExceptionAggregated ExceptionReason = "RulesAggregated"

	// ExceptionSetByKubernetes means that the manifest declares annotations of a controller of Kubernetes, such as the
	// revision of a Deployment.
	ExceptionSetByKubernetes ExceptionReason = "SetByKubernetes"

	// ExceptionRunsOnce means that the object is gone and not created again: a Job or Pod has run, or may have, or
	// spec.ignore leaves the deletion alone.
	ExceptionRunsOnce ExceptionReason = "RunsOnce"

	// ExceptionOptedOut means that the manifest exempts the object by an annotation.
	ExceptionOptedOut ExceptionReason = "OptedOut"

	// ExceptionIgnored means that spec.ignore names the fields.
	ExceptionIgnored ExceptionReason = "Ignored"

	// ExceptionLeftByHelm means that the fields differ from the manifest, and by its managed fields no other writer
	// than Helm changed the object since the revision was deployed. Later departures from what is there are reverted.
	ExceptionLeftByHelm ExceptionReason = "LeftByHelm"

	// ExceptionReserved means that the operator or Helm itself works with the object, so no release tracks it: the
	// Lease and the Secrets of the operator, the registration of its guard, HelmReleases, HelmReleasePolicies and
	// their definitions, Events, and the records of Helm releases.
	ExceptionReserved ExceptionReason = "Reserved"
)
