package v1alpha1

// State sums up the newest revision of a Helm release. The API accepts any value in status, so a client of one version
// can read the status of an operator of another. It is an alias, so that programs for the older helm-locker, with
// strings in its place, compile.
type State = string

const (
	// StateSecretNotFound means that no release record (Secret) of the release exists. Nothing is locked; the release
	// is locked when a record appears.
	StateSecretNotFound State = "SecretNotFound"

	// StateUnknown means that the newest revision has a status unknown to helm-locker, or Helm's own `unknown`.
	// Nothing is locked.
	StateUnknown State = "Unknown"

	// StateDeployed means that the newest revision is deployed: the only state in which a release is locked.
	StateDeployed State = "Deployed"

	// StateUninstalled means that the release was uninstalled and its history kept. Nothing is locked.
	StateUninstalled State = "Uninstalled"

	// StateError means that the newest revision is deployed but could not be read: the record cannot be decoded or its
	// manifest does not parse. Nothing is locked; the Ready condition has the reason.
	StateError State = "Error"

	// StateFailed means that the newest revision failed to install, upgrade or roll back. Nothing is locked until Helm
	// deploys a revision.
	StateFailed State = "Failed"

	// StateTransitioning means that Helm is at work (`pending-install`, `pending-upgrade`, `pending-rollback` or
	// `uninstalling`), or was interrupted at it. Nothing is locked until Helm is done; status.transitioningSince has
	// the beginning.
	StateTransitioning State = "Transitioning"
)
