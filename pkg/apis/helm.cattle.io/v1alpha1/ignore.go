package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Bounds of an ignore rule, so that a HelmRelease with many of them stays quick to check.
const (
	// MaxIgnoreRules bounds spec.ignore.
	MaxIgnoreRules = 64
	// MaxIgnorePaths bounds the paths and the managers of one rule, each.
	MaxIgnorePaths = 64
)

// IgnoreRule names fields to leave alone. A field is ignored when every part of the rule applies to it: the object is a
// target, the field is at or below one of the paths, and the field is owned by one of the managers. A part left out
// applies to everything; a rule needs paths, managers or deletion.
//
// A deleted object is created again as declared, unless a rule with deletion selects it. The path `""` without
// managers, which stands for the whole object, exempts the object altogether.
//
// +kubebuilder:validation:XValidation:rule="has(self.paths) && size(self.paths) > 0 || has(self.managers) && size(self.managers) > 0 || has(self.deletion) && self.deletion",message="an ignore rule needs paths, managers or deletion; use the path \"\" to ignore whole objects"
type IgnoreRule struct {
	// Paths are RFC 6901 pointers into the objects of the manifest, for example `/spec/replicas` or
	// `/spec/template/metadata/annotations/example.com~1hash` (`~1` stands for a slash in a key, `~0` for a tilde).
	// A segment `*` stands for any key or list index, as in `/spec/template/spec/containers/*/image`; a number is
	// an index of the list as the manifest has it. A path covers all that is below it; `""` is the whole object.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=1024
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^(/([^~/]|~[01])*)*$')",message="a path is a JSON pointer: empty, or each of its segments begins with a slash; a slash in a key is written ~1, a tilde ~0"
	Paths []string `json:"paths,omitempty"`

	// Managers are names of field managers, as `kubectl get --show-managed-fields` prints them, with `*` for any
	// text and `?` for any character, for example `keda-*`. A field is ignored while one of them owns it.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	Managers []string `json:"managers,omitempty"`

	// Deletion leaves the deletion of the objects alone: a deleted one is not created again. It is for objects that run
	// once and are deleted by their controller or a user afterwards, such as the Workflows of Argo or the TaskRuns of
	// Tekton. Jobs need no rule, and neither do Pods that are not restarted. While the object exists, its content is
	// protected as that of any other.
	//
	// +optional
	Deletion bool `json:"deletion,omitempty"`

	// Target selects the objects of the rule; all objects of the release without it. It is matched against the
	// manifest, never against live objects, so labelling an object exempts nothing.
	//
	// +optional
	Target *IgnoreTarget `json:"target,omitempty"`

	// Until ends the rule at a time: drift that it left alone is reverted then. Without it the rule has no end.
	//
	// +optional
	Until *metav1.Time `json:"until,omitempty"`

	// Reason is for other people, for example the number of an incident.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Reason string `json:"reason,omitempty"`

	// By is the user who added the rule, for other people. Rules for pauses of a policy have the API server compare it
	// with the user of the request.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=256
	By string `json:"by,omitempty"`
}

// ActiveAt reports whether the rule has not ended at the given time.
func (r *IgnoreRule) ActiveAt(now time.Time) bool { return r.Until == nil || now.Before(r.Until.Time) }

// IgnoreTarget selects objects of the manifest. Everything that is given has to match. Group, version, kind, name
// and namespace are regular expressions (RE2) that have to match the whole text; an empty one matches everything.
// It has the shape of the targets in Kustomize patches and in Flux.
type IgnoreTarget struct {
	// Group is the API group, for example `apps`. An empty group matches every group, so it cannot select the core
	// group: use kind.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="''.matches(self) ? true : true",message="group must be a regular expression"
	Group string `json:"group,omitempty"`

	// Version is the API version without the group, for example `v1`.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="''.matches(self) ? true : true",message="version must be a regular expression"
	Version string `json:"version,omitempty"`

	// Kind is the object's kind, for example `Deployment|StatefulSet`.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="''.matches(self) ? true : true",message="kind must be a regular expression"
	Kind string `json:"kind,omitempty"`

	// Name is the object's name, for example `podinfo.*`.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="''.matches(self) ? true : true",message="name must be a regular expression"
	Name string `json:"name,omitempty"`

	// Namespace is the object's namespace, the release's where the manifest declares none.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="''.matches(self) ? true : true",message="namespace must be a regular expression"
	Namespace string `json:"namespace,omitempty"`

	// LabelSelector selects by the labels in the manifest, for example `app=podinfo,tier!=cache`.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^ *((!? *[-A-Za-z0-9_./]+|[-A-Za-z0-9_./]+ *(=|==|!=|<|>) *[-A-Za-z0-9_.]*|[-A-Za-z0-9_./]+ +(in|notin) *[(] *[-A-Za-z0-9_.]*( *, *[-A-Za-z0-9_.]*)* *[)])( *, *(!? *[-A-Za-z0-9_./]+|[-A-Za-z0-9_./]+ *(=|==|!=|<|>) *[-A-Za-z0-9_.]*|[-A-Za-z0-9_./]+ +(in|notin) *[(] *[-A-Za-z0-9_.]*( *, *[-A-Za-z0-9_.]*)* *[)]))*)? *$')",message="labelSelector must be a label selector, for example app=web,tier notin (cache)"
	LabelSelector string `json:"labelSelector,omitempty"`

	// AnnotationSelector selects by the annotations in the manifest, in the form of a label selector.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^ *((!? *[-A-Za-z0-9_./]+|[-A-Za-z0-9_./]+ *(=|==|!=|<|>) *[-A-Za-z0-9_.]*|[-A-Za-z0-9_./]+ +(in|notin) *[(] *[-A-Za-z0-9_.]*( *, *[-A-Za-z0-9_.]*)* *[)])( *, *(!? *[-A-Za-z0-9_./]+|[-A-Za-z0-9_./]+ *(=|==|!=|<|>) *[-A-Za-z0-9_.]*|[-A-Za-z0-9_./]+ +(in|notin) *[(] *[-A-Za-z0-9_.]*( *, *[-A-Za-z0-9_.]*)* *[)]))*)? *$')",message="annotationSelector must be a label selector, for example app=web,tier notin (cache)"
	AnnotationSelector string `json:"annotationSelector,omitempty"`
}
