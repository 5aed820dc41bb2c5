package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PauseRules are rules for the pauses of a policy's HelmReleases: `suspend`, `suspendUntil` and ignore rules with an
// end.
//
// The API server checks them at admission, by the ValidatingAdmissionPolicy of the chart. While it is there, users
// change no field of such a HelmRelease but `suspend`, `suspendUntil`, `acceptedRecord` and ignore rules with an end,
// and each pause carries the name of its user in the annotation `helmreleases.cattle.io/suspended-by` or in `by` of a
// rule. The pauses of the template are not bound by the rules.
//
// +kubebuilder:validation:MinProperties=1
type PauseRules struct {
	// MaxDuration is the longest time until the end of a pause, for example `4h`. A pause with a later end, or with
	// none, is shortened by the process that follows policies as soon as it sees it, as admission has no clock.
	//
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m')",message="maxDuration must be a minute or more"
	MaxDuration *metav1.Duration `json:"maxDuration,omitempty"`

	// RequireReason is a regular expression (RE2) that matches the reason of a pause: the annotation
	// `helmreleases.cattle.io/suspend-reason`, or `reason` of an ignore rule. It matches anywhere in the text unless it
	// begins with `^`.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="''.matches(self) ? true : true",message="requireReason must be a regular expression"
	RequireReason string `json:"requireReason,omitempty"`

	// ForbidOpenEnd forbids `suspend: true`, which has no end.
	//
	// +optional
	ForbidOpenEnd bool `json:"forbidOpenEnd,omitempty"`
}

// Latest returns the latest end of a pause that is seen at the given time; nil for any. It is a whole second, as the
// API keeps it.
func (r *PauseRules) Latest(now time.Time) *metav1.Time {
	if r == nil || r.MaxDuration == nil {
		return nil
	}
	return &metav1.Time{Time: now.Add(r.MaxDuration.Duration).UTC().Truncate(time.Second)}
}
