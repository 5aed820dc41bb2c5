package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

const (
	// ManagedByAnnotation is the annotation of a HelmRelease with the name of its controller (flag --controller-name).
	// A controller leaves alone what another one has claimed.
	ManagedByAnnotation = "helmreleases.cattle.io/managed-by"

	// SuspendReasonAnnotation is the annotation of a HelmRelease with the reason for its suspension, for people.
	SuspendReasonAnnotation = "helmreleases.cattle.io/suspend-reason"

	// SuspendedByAnnotation is the annotation of a HelmRelease with the user of its suspension. The command line writes
	// it. It is proven only for a HelmRelease of a policy with rules for pauses: the API server compares it with the
	// user of the request then.
	SuspendedByAnnotation = "helmreleases.cattle.io/suspended-by"

	// PolicyLabel is the label of a policy's HelmRelease with the name of the policy. The ownerReference makes it the
	// policy's: a HelmRelease without one counts as written by hand.
	PolicyLabel = "helmreleases.cattle.io/policy"

	// PolicyFieldsAnnotation is the annotation of a policy's HelmRelease with the labels set by the policy, and
	// `suspend` when its template suspends: these are removed when the template no longer has them.
	PolicyFieldsAnnotation = "helmreleases.cattle.io/policy-fields"

	// EnforcedSinceAnnotation is the annotation of a policy's HelmRelease with the time at which the rollout set its
	// mode to Enforce.
	EnforcedSinceAnnotation = "helmreleases.cattle.io/enforced-since"

	// HeldSinceAnnotation is the annotation of a policy's HelmRelease with the time since which the rollout holds the
	// release because of its drift. It ends with the drift, and with the hold.
	HeldSinceAnnotation = "helmreleases.cattle.io/held-since"

	// EnforceRevisionAnnotation is the annotation of a held HelmRelease with the revision whose drift may be reverted.
	// A user sets it, and the rollout removes it with the end of the hold: it is for one drift.
	EnforceRevisionAnnotation = "helmreleases.cattle.io/enforce-revision"

	// LegacyFinalizer is a finalizer that older operators put on HelmReleases. It is removed where it is found, and
	// none is added: deleting a HelmRelease must not wait for an operator that may be gone.
	LegacyFinalizer = "wrangler.cattle.io/on-helm-release-remove"
)

// Annotations by which a chart exempts an object of its own. They count in the manifest only: on a live object they are
// nothing but one more change.
const (
	// LockAnnotation with the value LockDisabled exempts an object.
	LockAnnotation = "helmreleases.cattle.io/lock"
	// LockDisabled is the value of LockAnnotation that exempts an object. No other value has a meaning.
	LockDisabled = "disabled"

	// FluxDriftAnnotation with the value LockDisabled exempts an object, too: charts carry it for Flux's
	// helm-controller, where it means the same.
	FluxDriftAnnotation = "helm.toolkit.fluxcd.io/driftDetection"
)

// PolicyOf returns the reference to the policy of a HelmRelease, nil for a hand-written one.
func PolicyOf(hr *HelmRelease) *metav1.OwnerReference {
	owner := metav1.GetControllerOfNoCopy(hr)
	if owner == nil || owner.Kind != PolicyKind || owner.APIVersion != SchemeGroupVersion.String() {
		return nil
	}
	return owner
}
