package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helm "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
)

// ReleaseLock is the lock of a Helm release, for the members of the namespace of the release. It has the name of the
// release. The process for teams (`helm-locker teams`) makes it and writes its status; users write its spec.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=releaselocks,scope=Namespaced,shortName=rlock,categories=helm
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`,description="State of the newest revision"
// +kubebuilder:printcolumn:name="Locked",type=string,JSONPath=`.status.conditions[?(@.type=="Locked")].status`,description="Whether the objects of the release are protected now"
// +kubebuilder:printcolumn:name="Drifted",type=integer,JSONPath=`.status.objects.drifted`,description="Objects that differ from the manifest now; empty while they are not compared"
// +kubebuilder:printcolumn:name="Guard",type=string,JSONPath=`.status.guard`,description="Whether a change is denied"
// +kubebuilder:printcolumn:name="Paused-Until",type=string,JSONPath=`.status.pause.until`,description="End of the pause that a team asked for"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Locked")].reason`,description="Reason of the Locked condition"
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Locked")].message`,description="Message of the Locked condition"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ReleaseLock struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the pause that the team asks for.
	// +optional
	Spec ReleaseLockSpec `json:"spec,omitempty"`

	// Status is the state of the lock.
	// +optional
	Status ReleaseLockStatus `json:"status,omitempty"`
}

// ReleaseLockList is a list of ReleaseLocks.
//
// +kubebuilder:object:root=true
type ReleaseLockList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ReleaseLock `json:"items"`
}

// ReleaseLockSpec is a pause that the members of a namespace ask for. The platform team bounds its length.
//
// +kubebuilder:validation:XValidation:rule="!has(self.pausedUntil) || has(self.reason) && size(self.reason) > 0",message="a pause needs a reason: set spec.reason, too"
type ReleaseLockSpec struct {
	// PausedUntil pauses the lock until this time. A later end than the platform team allows is brought forward to the
	// latest that it allows, counted from the request. Without it, a pause that was asked for here ends at once.
	//
	// +optional
	PausedUntil *metav1.Time `json:"pausedUntil,omitempty"`

	// Reason is why, for others to read.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Reason string `json:"reason,omitempty"`

	// By is the user who asks. The API server compares it with the user of the request.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=253
	By string `json:"by,omitempty"`
}

// ReleaseLockStatus is the part of a HelmRelease's status that is about the namespace of the ReleaseLock.
type ReleaseLockStatus struct {
	// HelmRelease is the HelmRelease that names the release.
	// +optional
	HelmRelease *HelmReleaseReference `json:"helmRelease,omitempty"`

	// State and Revision are those of the HelmRelease's status: the newest revision's state, and the locked revision.
	// +optional
	State string `json:"state,omitempty"`
	// +optional
	Revision int `json:"revision,omitempty"`

	// Mode and Guard are those of the HelmRelease's spec.
	// +optional
	Mode helm.Mode `json:"mode,omitempty"`
	// +optional
	Guard helm.Guard `json:"guard,omitempty"`

	// Objects counts the objects of the release, those of other namespaces included. It is absent while the release is
	// unlocked, and so its objects are not compared.
	// +optional
	Objects helm.ObjectCounts `json:"objects,omitzero"`

	// Pause is the answer to the pause that the spec asks for. It is absent without one.
	// +optional
	Pause *PauseStatus `json:"pause,omitempty"`

	// Conditions are the conditions `Ready`, `Locked`, `Drifted`, `Contended` and `Guarded` of the HelmRelease. Only
	// `Locked` has its message: those of the others list drifted objects, of other namespaces as well. `Ready` and
	// `Locked` are Unknown with the reason `OperatorNotRunning` while no operator renews its Lease.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// RecentDrift lists the last changes of objects in this namespace, reverted or denied, newest first.
	// +optional
	// +listType=atomic
	RecentDrift []helm.DriftRecord `json:"recentDrift,omitempty"`
}

// ReasonOperatorNotRunning is the reason of the conditions Ready and Locked after the end of the operator.
const ReasonOperatorNotRunning = "OperatorNotRunning"

// HelmReleaseReference names a HelmRelease.
type HelmReleaseReference struct {
	// +required
	Namespace string `json:"namespace"`
	// +required
	Name string `json:"name"`
}

// PauseStatus is the answer to a pause that was asked for.
type PauseStatus struct {
	// Requested is `spec.pausedUntil` as it was answered.
	// +required
	Requested metav1.Time `json:"requested"`

	// Until is the end of the pause in the HelmRelease. It is absent while the HelmRelease has no pause of this
	// ReleaseLock.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`

	// Message explains an end that is not the requested one, or why there is no pause.
	// +optional
	Message string `json:"message,omitempty"`
}
