package policy

import (
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/release"
)

// Outcome is a policy's decision about a release.
type Outcome string

// All outcomes.
const (
	// Create: a HelmRelease is to be created.
	Create Outcome = "Create"
	// Update: the HelmRelease of the policy, or of another policy that no longer has the release, is to be changed.
	Update Outcome = "Update"
	// Delete: the HelmRelease of the policy is to be deleted; Why is the reason.
	Delete Outcome = "Delete"
	// Keep: the HelmRelease of the policy is as it is to be.
	Keep Outcome = "Keep"
	// Waiting: a terminating HelmRelease has the name.
	Waiting Outcome = "Waiting"
	// HandWritten: a HelmRelease of no policy, By, names the release.
	HandWritten Outcome = "HandWritten"
	// OtherPolicy: another policy, By, has the release.
	OtherPolicy Outcome = "OtherPolicy"
	// OverBound: the policy matches more releases than spec.maxReleases allows, and this is one too many.
	OverBound Outcome = "OverBound"
	// OperatorNamespace: the release is in the operator's own namespace, and the policy does not include that.
	OperatorNamespace Outcome = "OperatorNamespace"
	// NameTaken: a HelmRelease for another release, By, has the name.
	NameTaken Outcome = "NameTaken"
)

// Result is the decision of one policy about one release.
type Result struct {
	Policy  *v1alpha1.HelmReleasePolicy
	Release release.Key
	Outcome Outcome
	// By names the HelmRelease (HandWritten, NameTaken) or the policy (OtherPolicy) that has the release.
	By string
	// Why is the reason of a deletion, and of an update that shortens a pause.
	Why string
	// Existing is the HelmRelease as it is, nil when there is none.
	Existing *v1alpha1.HelmRelease
	// Desired is the HelmRelease as it is to be, for Create and Update.
	Desired *v1alpha1.HelmRelease
}

// Writes reports whether a HelmRelease is to be written.
func (r *Result) Writes() bool {
	return r.Outcome == Create || r.Outcome == Update || r.Outcome == Delete
}
