package v1alpha1

// State sums up the newest revision of a Helm release. The API accepts any value in status, so that a client of one
// version can read what an operator of another wrote.
type State string

const (
	// StateSecretNotFound means that no release record (Secret) of the release exists. Nothing is locked; the release
	// is locked when a record appears.
	StateSecretNotFound State = "SecretNotFound"

	// StateUnknown means that the newest revision has a status that helm-locker does not know, or Helm's own
	// `unknown`. Nothing is locked.
	StateUnknown State = "Unknown"

	// StateDeployed means that the newest revision is deployed: the only state in which a release is locked.
	StateDeployed State = "Deployed"

	// StateUninstalled means that the release was uninstalled and its history kept. Nothing is locked.
	StateUninstalled State = "Uninstalled"

	// StateError means that the newest revision is deployed but could not be read: the record cannot be decoded or its
	// manifest does not parse. Nothing is locked; the Ready condition says why.
	StateError State = "Error"

	// StateFailed means that the newest revision failed to install, upgrade or roll back. Nothing is locked until Helm
	// deploys a revision.
	StateFailed State = "Failed"

	// StateTransitioning means that Helm is at work (`pending-install`, `pending-upgrade`, `pending-rollback` or
	// `uninstalling`), or was interrupted at it. Nothing is locked until Helm is done; status.transitioningSince says
	// since when.
	StateTransitioning State = "Transitioning"
)
