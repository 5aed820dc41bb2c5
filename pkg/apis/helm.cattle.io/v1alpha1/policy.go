package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The markers stand in a block of their own: wrangler reads them only from there.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=helmreleasepolicies,scope=Namespaced,shortName=hlrp,categories=helm
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="the name of a policy has at most 63 characters: it is the value of a label"
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.spec.template.spec.mode`,description="Mode of the template"
// +kubebuilder:printcolumn:name="Matched",type=integer,JSONPath=`.status.releases.matched`,description="Releases that the policy matches"
// +kubebuilder:printcolumn:name="Made",type=integer,JSONPath=`.status.releases.made`,description="HelmReleases that the policy has made"
// +kubebuilder:printcolumn:name="Locked",type=integer,JSONPath=`.status.releases.locked`,description="Releases that are protected by the policy now"
// +kubebuilder:printcolumn:name="Drifted",type=integer,JSONPath=`.status.releases.drifted`,description="Releases of the policy with objects that differ from the manifest now"
// +kubebuilder:printcolumn:name="Held",type=integer,JSONPath=`.status.rollout.held`,description="Releases that the rollout holds in mode Detect because of their drift"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="Reason of the Ready condition"
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,description="Message of the Ready condition"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// HelmReleasePolicy locks all matching Helm releases, now and later: the operator keeps a HelmRelease for each, called
// NAMESPACE.NAME and owned by the policy. Deleting a policy deletes its HelmReleases, which unlocks the releases and
// changes nothing else. Policies count in the namespace of the operator only.
type HelmReleasePolicy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec names the releases to lock, and how.
	// +required
	Spec HelmReleasePolicySpec `json:"spec"`

	// Status has the operator's last observations and actions. It is written only by the operator.
	// +optional
	Status HelmReleasePolicyStatus `json:"status,omitzero"`
}

// +kubebuilder:object:root=true

// HelmReleasePolicyList is a list of HelmReleasePolicies.
type HelmReleasePolicyList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []HelmReleasePolicy `json:"items"`
}

// HelmReleasePolicySpec names the releases to lock, and how.
type HelmReleasePolicySpec struct {
	// Match selects releases. `namespaces: ["*"]` selects those of all namespaces but the operator's own.
	//
	// +required
	Match ReleaseMatch `json:"match"`

	// Exclude leaves out matching releases: those selected by one of the entries.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Exclude []ReleaseMatch `json:"exclude,omitempty"`

	// Template is the content of the policy's HelmReleases.
	//
	// +optional
	// +kubebuilder:default={}
	Template HelmReleaseTemplate `json:"template"`

	// MaxReleases bounds the locked releases (1,000 by default). If more match, namespaces get equal shares of
	// that number; in a namespace with more than its share, releases locked by the policy already stay so, then the
	// order of names decides. The condition Ready has the number of releases left unlocked.
	//
	// +optional
	// +kubebuilder:default=1000
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	MaxReleases int `json:"maxReleases,omitempty"`

	// Rollout moves releases from mode Detect to Enforce a few at a time, when the template's mode is Enforce.
	// Without it they are enforced at once.
	//
	// +optional
	Rollout *Rollout `json:"rollout,omitempty"`

	// AcceptRecordsOfAnyone accepts a policy with the operator's own rights: every user with the right to write a
	// release record (a Secret) in a matched namespace then decides what the operator writes anywhere in the cluster.
	// It counts when the template's mode is Enforce and its serviceAccountName is empty, and the operator runs without
	// `--impersonate` and `--trust-records=Witnessed`: until it is true, the policy makes HelmReleases in mode Detect,
	// those enforced before stay so, and the condition Ready has the reason AcceptanceRequired.
	//
	// +optional
	AcceptRecordsOfAnyone bool `json:"acceptRecordsOfAnyone,omitempty"`

	// Pauses are rules for the pauses of the policy's HelmReleases. Without it a user with the right to change them
	// pauses a release for any time and any reason.
	//
	// +optional
	Pauses *PauseRules `json:"pauses,omitempty"`

	// IncludeOperatorNamespace allows the policy to match releases in the operator's own namespace, and so the release
	// of the operator itself.
	//
	// +optional
	IncludeOperatorNamespace bool `json:"includeOperatorNamespace,omitempty"`
}

// ReleaseMatch selects the releases to which every given field applies. At least one has to be given.
// +kubebuilder:validation:XValidation:rule="has(self.namespaces) || has(self.namespaceSelector) || has(self.releases) || has(self.releaseSelector)",message="give namespaces, namespaceSelector, releases or releaseSelector; namespaces: [\"*\"] selects all releases"
type ReleaseMatch struct {
	// Namespaces are names of namespaces that hold release records, with `*` for any text and `?` for any character.
	// One of them has to match.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[-a-z0-9*?]+$`
	Namespaces []string `json:"namespaces,omitempty"`

	// NamespaceSelector selects by the labels of the Namespace that holds the release record.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="has(self.matchLabels) && size(self.matchLabels) > 0 || has(self.matchExpressions) && size(self.matchExpressions) > 0",message="an empty namespaceSelector would select every namespace: write namespaces: [\"*\"] if that is meant"
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`

	// Releases are names of releases, with `*` for any text and `?` for any character. One of them has to match.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=53
	// +kubebuilder:validation:items:Pattern=`^[-a-z0-9.*?]+$`
	Releases []string `json:"releases,omitempty"`

	// ReleaseSelector selects by the labels of the release: those of its newest record, given by `helm install
	// --labels`.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="has(self.matchLabels) && size(self.matchLabels) > 0 || has(self.matchExpressions) && size(self.matchExpressions) > 0",message="an empty releaseSelector would select every release: write releases: [\"*\"] if that is meant"
	ReleaseSelector *metav1.LabelSelector `json:"releaseSelector,omitempty"`
}

// HelmReleaseTemplate is the content of the HelmReleases of a policy.
type HelmReleaseTemplate struct {
	// Metadata is added to the operator's own labels and annotations on them.
	//
	// +optional
	Metadata TemplateMetadata `json:"metadata,omitzero"`

	// Spec is their spec, without the release. `suspend` and `suspendUntil` of a HelmRelease follow the template only
	// while it sets one of them: otherwise a release of the policy is suspended and resumed by itself.
	//
	// +optional
	// +kubebuilder:default={}
	Spec Protection `json:"spec"`
}

// TemplateMetadata is the metadata of the HelmReleases of a policy.
type TemplateMetadata struct {
	// Labels are set on the HelmReleases. An operator with `--shard-selector` manages those that it selects.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="!('helmreleases.cattle.io/policy' in self)",message="the label helmreleases.cattle.io/policy is set by the operator"
	Labels map[string]string `json:"labels,omitempty"`
}

// DriftedReleases is the effect of a rollout on releases with drift.
// +kubebuilder:validation:Enum=Hold;Revert
type DriftedReleases string

const (
	// DriftedHold holds a release in mode Detect until it has no drift, or a user agrees to the revert.
	DriftedHold DriftedReleases = "Hold"

	// DriftedRevert moves a release with drift, which reverts the drift.
	DriftedRevert DriftedReleases = "Revert"
)

// Rollout is how releases move from mode Detect to Enforce. In a batch those without drift come first.
// +kubebuilder:validation:XValidation:rule="!has(self.holdFor) || !has(self.drifted) || self.drifted == 'Hold'",message="holdFor is for drifted: Hold"
type Rollout struct {
	// BatchSize is how many releases move within an interval.
	//
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	BatchSize int `json:"batchSize,omitempty"`

	// Interval is the time in which a batch moves, for example `1h` (the default) or `30m`. It is a minute at least.
	//
	// +optional
	// +kubebuilder:default="1h"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m')",message="interval must be a minute or more"
	Interval metav1.Duration `json:"interval,omitzero"`

	// MaxContended is how many releases of those in mode Enforce may have objects that another party keeps changing
	// back (0 by default). With more, or when a revert fails in one, no more releases move until that is over.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxContended int `json:"maxContended,omitempty"`

	// Drifted is the effect on releases with drift (condition Drifted). `Hold`, the default, keeps one in mode Detect
	// until its drift is over, holdFor is over, or its HelmRelease has the annotation
	// `helmreleases.cattle.io/enforce-revision` with its revision. `Revert` moves it like the others.
	//
	// +optional
	// +kubebuilder:default=Hold
	Drifted DriftedReleases `json:"drifted,omitempty"`

	// HoldFor is the time, for example `48h`, after which a held release moves with its drift. It counts from the
	// annotation `helmreleases.cattle.io/held-since` of the HelmRelease. Without it there is no deadline.
	//
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('8760h')",message="holdFor must be between a minute and 8760h"
	HoldFor *metav1.Duration `json:"holdFor,omitempty"`
}
