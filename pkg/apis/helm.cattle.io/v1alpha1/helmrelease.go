package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The markers stand in a block of their own: wrangler reads them only from there.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=helmreleases,scope=Namespaced,shortName=hlr,categories=helm
// +kubebuilder:printcolumn:name="Release",type=string,JSONPath=`.spec.release.name`,description="Name of the Helm release"
// +kubebuilder:printcolumn:name="Release-Namespace",type=string,JSONPath=`.spec.release.namespace`,description="Namespace of the Helm release"
// +kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.status.version`,description="Newest revision of the Helm release"
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`,description="State of the newest revision"
// +kubebuilder:printcolumn:name="Locked",type=string,JSONPath=`.status.conditions[?(@.type=="Locked")].status`,description="Whether the objects of the release are protected now"
// +kubebuilder:printcolumn:name="Drifted",type=integer,JSONPath=`.status.objects.drifted`,description="Objects that differ from the manifest now; empty while they are not compared"
// +kubebuilder:printcolumn:name="Additions",type=integer,priority=1,JSONPath=`.status.objects.additions`,description="Objects to which others added what scope Declared leaves alone"
// +kubebuilder:printcolumn:name="Guarded",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Guarded")].status`,description="Whether the guard that the spec requests is in force"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Reason of the Ready condition"
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,description="Message of the Ready condition"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// HelmRelease locks an existing Helm release: while the newest revision of the release is deployed, whatever the
// revision's manifest declares is kept as Helm left it. The release itself may come from any tool that stores Helm
// release records. Deleting a HelmRelease unlocks the release and changes nothing else.
type HelmRelease struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec names the release to lock, and how.
	// +required
	Spec HelmReleaseSpec `json:"spec"`

	// Status has the operator's last observations and actions. It is written only by the operator.
	// +optional
	Status HelmReleaseStatus `json:"status,omitzero"`
}

// +kubebuilder:object:root=true

// HelmReleaseList is a list of HelmReleases.
type HelmReleaseList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []HelmRelease `json:"items"`
}

// HelmReleaseSpec names the release to lock, and how.
type HelmReleaseSpec struct {
	// Release is the Helm release to lock. It need not exist yet: it is locked when it appears.
	//
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec.release is immutable: to lock another release, delete this HelmRelease (that changes none of the release's objects) and create a new one"
	Release ReleaseReference `json:"release"`

	// AcceptedRecord is a release record to enforce whatever its writer may do, as `UID/RESOURCEVERSION` of its Secret
	// or ConfigMap. It accepts that content only: a record that has changed since has another resourceVersion.
	// `helm-locker accept` sets it. It has an effect where the operator runs with `--trust-records=Witnessed`.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=85
	// +kubebuilder:validation:Pattern=`^[-0-9A-Za-z]{1,64}/[0-9]{1,20}$`
	AcceptedRecord string `json:"acceptedRecord,omitempty"`

	Protection `json:",inline"`
}

// Protection is how a release is locked: the part of the spec shared by a HelmRelease and the template of a
// HelmReleasePolicy.
// +kubebuilder:validation:XValidation:rule="!has(self.guard) || self.guard != 'Deny' || !has(self.mode) || self.mode != 'Detect'",message="spec.guard Deny takes spec.mode Enforce: a release that is only watched can be guarded with Observe or Warn"
type Protection struct {
	// Mode is the reaction to drift: `Enforce` (the default) reverts it, `Detect` reports it and writes nothing to the
	// objects of the release.
	//
	// +optional
	// +kubebuilder:default=Enforce
	Mode Mode `json:"mode,omitempty"`

	// Scope is the protected part: `Declared` (the default) protects the declared fields and leaves alone the additions
	// of others; `Strict` also removes those additions: labels, annotations, data keys, environment variables,
	// containers, ports, finalizers and the like. Fields written by Helm, the API server or a controller of Kubernetes
	// itself stay in both, and so do whole undeclared objects.
	//
	// +optional
	// +kubebuilder:default=Declared
	Scope Scope `json:"scope,omitempty"`

	// Ignore lists fields to leave alone: they are neither compared nor written, whatever changes them.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Ignore []IgnoreRule `json:"ignore,omitempty"`

	// Guard is how the API server treats a change of a locked object before it happens: `Off` (the default) lets it
	// through, `Observe` lets it through and names its user with the revert, `Warn` does so with a warning that it is
	// not kept, and `Deny` refuses it. Helm's changes pass, and all changes do while the guard does not answer; a
	// change by anyone else is reverted afterwards as without a guard. It takes an operator with `--guard-address`: the
	// condition Guarded shows whether it is in force. Mode Detect does not allow `Deny`.
	//
	// +optional
	// +kubebuilder:default=Off
	Guard Guard `json:"guard,omitempty"`

	// GuardExempt are users, groups and ServiceAccounts whose changes pass the guard. They are reverted all the same.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	GuardExempt []GuardSubject `json:"guardExempt,omitempty"`

	// ExpectedWriters are the users, groups and ServiceAccounts that deploy the release; all if it is empty. A revision
	// of another user is locked, and reported by the condition. It takes `--trust-records=Witnessed`.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	ExpectedWriters []GuardSubject `json:"expectedWriters,omitempty"`

	// ReplaceImmutable allows an object to be deleted and created again when the API server refuses to take a change
	// back because the field is immutable, and a dry run shows that the object could be created. A Service then gets
	// a new cluster IP, unless the manifest declares one, and the pods of a Deployment or DaemonSet start again. Kinds
	// that hold data or run something twice, and custom resources, are only reported, as is everything without it.
	//
	// +optional
	ReplaceImmutable bool `json:"replaceImmutable,omitempty"`

	// ServiceAccountName is the ServiceAccount, in the namespace of the release, in whose name the objects of the
	// release are written. Objects beyond its rights are not reverted, and the status names them. Without it the
	// operator writes in its own name, unless it runs with `--impersonate`: then its `--default-service-account` takes
	// the place, and without either nothing is locked.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// Suspend unlocks the release for as long as it is true. Nothing is reverted meanwhile; drift made in that time is
	// found, and reverted, when the release is locked again.
	//
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// SuspendUntil unlocks the release until this time (RFC 3339, for example `2026-01-31T18:00:00Z`), after which it
	// locks again by itself. A time in the past has no effect.
	//
	// +optional
	SuspendUntil *metav1.Time `json:"suspendUntil,omitempty"`

	// Windows are recurring times in which the release is unlocked, as for a nightly job with changes to it. Drift made
	// in a window is reverted when it ends. If one of them is invalid none opens, and the condition Ready names the
	// error.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Windows []Window `json:"windows,omitempty"`
}

// Window is a recurring time.
type Window struct {
	// Schedule is when the window begins, in the form of a CronJob's: minute, hour, day of the month, month, day of the
	// week, for example `30 2 * * SAT`, or one of `@yearly`, `@monthly`, `@weekly`, `@daily` and `@hourly`. If the
	// clock skips that time on a day, the window does not open on that day.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|[-0-9A-Za-z*,/?]+( +[-0-9A-Za-z*,/?]+){4})$')",message="schedule has five fields (minute, hour, day of month, month, day of week) or is one of @yearly, @monthly, @weekly, @daily, @hourly; the time zone is a field of its own"
	Schedule string `json:"schedule"`

	// Duration is how long the window stays open, from 1m to 24h, for example `1h30m`.
	//
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]+(h|m|s))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('24h')",message="duration is from 1m to 24h"
	Duration metav1.Duration `json:"duration"`

	// TimeZone is the time zone of schedule, by its name in the IANA database, for example `Europe/Berlin`; UTC by
	// default.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z][-+_/A-Za-z0-9]*$`
	TimeZone string `json:"timeZone,omitempty"`
}

// SuspendedAt reports whether spec.suspend or spec.suspendUntil unlock the release at the given time.
func (s *Protection) SuspendedAt(now time.Time) bool {
	return s.Suspend || s.SuspendUntil != nil && now.Before(s.SuspendUntil.Time)
}

// ReleaseReference names a Helm release.
type ReleaseReference struct {
	// Name of the Helm release, as `helm list` shows it.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=53
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name"`

	// Namespace of the release records, as given to `helm install --namespace`. The objects of the release may be
	// elsewhere.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace"`
}

// NamespacedName returns the reference as a key for maps and queues.
func (r ReleaseReference) NamespacedName() types.NamespacedName {
	return types.NamespacedName{Namespace: r.Namespace, Name: r.Name}
}

// String returns "namespace/name".
func (r ReleaseReference) String() string {
	return r.NamespacedName().String()
}

// Scope is the protected part of an object.
// +kubebuilder:validation:Enum=Declared;Strict
type Scope string

const (
	// ScopeDeclared protects the declared fields.
	ScopeDeclared Scope = "Declared"

	// ScopeStrict protects the whole object: fields added by others are removed.
	ScopeStrict Scope = "Strict"
)

// Mode is the reaction to drift.
// +kubebuilder:validation:Enum=Enforce;Detect
type Mode string

const (
	// ModeEnforce reverts drift.
	ModeEnforce Mode = "Enforce"

	// ModeDetect reports drift in status, events and metrics, and writes nothing to the objects of the release.
	ModeDetect Mode = "Detect"
)

// Owner returns the reference for an object that is deleted with the HelmRelease.
func (h *HelmRelease) Owner() metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: SchemeGroupVersion.String(), Kind: Kind, Name: h.Name, UID: h.UID}
}

// IgnoredAt returns the rules of spec.ignore that have not ended at the given time.
func (s *Protection) IgnoredAt(now time.Time) []IgnoreRule {
	var active []IgnoreRule
	for _, r := range s.Ignore {
		if r.ActiveAt(now) {
			active = append(active, r)
		}
	}
	return active
}

// NextIgnoreEnd returns the next time after now at which a rule of spec.ignore ends; zero for none.
func (s *Protection) NextIgnoreEnd(now time.Time) time.Time {
	var next time.Time
	for _, r := range s.IgnoredAt(now) {
		if r.Until != nil && (next.IsZero() || r.Until.Time.Before(next)) {
			next = r.Until.Time
		}
	}
	return next
}
