package v1alpha1

const (
	// ManagedByAnnotation is the annotation of a HelmRelease that holds the name of the controller (flag --controller-name) that looks after
	// it. A controller leaves alone what another one has claimed.
	ManagedByAnnotation = "helmreleases.cattle.io/managed-by"

	// LegacyFinalizer is a finalizer that older operators put on HelmReleases. It is removed where it is found, and none
	// is added: deleting a HelmRelease must not wait for an operator that may be gone.
	LegacyFinalizer = "wrangler.cattle.io/on-helm-release-remove"
)
