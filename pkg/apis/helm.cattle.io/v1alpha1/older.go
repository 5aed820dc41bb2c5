package v1alpha1

// The names of the older helm-locker, for Go programs that make HelmReleases and read their states. docs/migration.md
// lists the successors of the others. ReleaseKey is that of ReleaseReference; a comment of its own would replace the
// latter's in docs/api.md.

type ReleaseKey = ReleaseReference //nolint:revive // the comment above says why it has none

// The older names of the states.
const (
	SecretNotFoundState = StateSecretNotFound
	UnknownState        = StateUnknown
	DeployedState       = StateDeployed
	UninstalledState    = StateUninstalled
	ErrorState          = StateError
	FailedState         = StateFailed
	TransitioningState  = StateTransitioning
)

// NewHelmRelease returns a copy of a HelmRelease with its kind, and with that namespace and name.
func NewHelmRelease(namespace, name string, hr HelmRelease) *HelmRelease {
	hr.TypeMeta.APIVersion, hr.TypeMeta.Kind = SchemeGroupVersion.WithKind(Kind).ToAPIVersionAndKind()
	hr.Namespace, hr.Name = namespace, name
	return &hr
}
