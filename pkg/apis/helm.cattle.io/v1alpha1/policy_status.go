package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HelmReleasePolicyStatus has the operator's last observations and actions.
type HelmReleasePolicyStatus struct {
	// ObservedGeneration is the metadata.generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Shard is the label selector of the operator that handles this policy (its `--shard-selector`). It is absent
	// when one operator handles all.
	// +optional
	Shard string `json:"shard,omitempty"`

	// Releases counts the matching releases.
	// +optional
	Releases PolicyCounts `json:"releases"`

	// Rollout is how far spec.rollout has come. It is absent without one, and in mode Detect.
	// +optional
	Rollout *RolloutStatus `json:"rollout,omitempty"`

	// Conditions are `Ready` and `Overlapping`, and while they apply `Stalled` and `Reconciling`.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchStrategy=merge
	// +patchMergeKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
}

// PolicyCounts counts the matching releases of a policy.
type PolicyCounts struct {
	// Matched is the number of matching releases.
	// +optional
	Matched int `json:"matched"`

	// Made is the number of HelmReleases made by the policy.
	// +optional
	Made int `json:"made"`

	// Locked is the number of those whose release is protected now. It is 0 in mode Detect.
	// +optional
	Locked int `json:"locked"`

	// Drifted is the number of those of whose objects some differ from the manifest now.
	// +optional
	Drifted int `json:"drifted"`

	// HandWritten is the number of matching releases with a HelmRelease made by no policy.
	// +optional
	HandWritten int `json:"handWritten,omitempty"`

	// OtherPolicy is the number of matching releases with a more specific policy.
	// +optional
	OtherPolicy int `json:"otherPolicy,omitempty"`

	// OverBound is the number of matching releases left unlocked by spec.maxReleases.
	// +optional
	OverBound int `json:"overBound,omitempty"`

	// OperatorNamespace is the number of matching releases that are not locked because they are in the operator's own
	// namespace.
	// +optional
	OperatorNamespace int `json:"operatorNamespace,omitempty"`

	// NameTaken is the number of matching releases that are not locked because a HelmRelease for another release has
	// the name.
	// +optional
	NameTaken int `json:"nameTaken,omitempty"`
}

// RolloutState is the state of a rollout.
// +kubebuilder:validation:Enum=Progressing;Stopped;Complete
type RolloutState string

const (
	// RolloutProgressing means that releases move, wait to be moved, or are held.
	RolloutProgressing RolloutState = "Progressing"

	// RolloutStopped means that no release moves, because of trouble in the moved ones.
	RolloutStopped RolloutState = "Stopped"

	// RolloutComplete means that all releases of the policy are in mode Enforce.
	RolloutComplete RolloutState = "Complete"
)

// RolloutStatus is how far a rollout has come.
type RolloutStatus struct {
	// State is `Progressing`, `Stopped` or `Complete`.
	// +required
	State RolloutState `json:"state"`

	// Enforced is the number of releases in mode Enforce.
	// +optional
	Enforced int `json:"enforced"`

	// Waiting is the number of releases that are still in mode Detect.
	// +optional
	Waiting int `json:"waiting"`

	// Held is the number of those that are held because of their drift.
	// +optional
	Held int `json:"held,omitempty"`

	// NextBatch is when the next releases may move. It is absent when none wait or the rollout has stopped.
	// +optional
	NextBatch *metav1.Time `json:"nextBatch,omitempty"`

	// Message is the reason of a stopped rollout, or of one that waits.
	// +optional
	Message string `json:"message,omitempty"`
}
