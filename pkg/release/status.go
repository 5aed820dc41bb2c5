package release

import (
	helmrelease "helm.sh/helm/v3/pkg/release"
)

// Status is the status of one revision of a release, with Helm's stored values.
type Status = helmrelease.Status

// All statuses of Helm 3 and Helm 4. StatusUnknown also stands for values unknown to this version.
const (
	StatusUnknown         = helmrelease.StatusUnknown
	StatusDeployed        = helmrelease.StatusDeployed
	StatusUninstalled     = helmrelease.StatusUninstalled
	StatusSuperseded      = helmrelease.StatusSuperseded
	StatusFailed          = helmrelease.StatusFailed
	StatusUninstalling    = helmrelease.StatusUninstalling
	StatusPendingInstall  = helmrelease.StatusPendingInstall
	StatusPendingUpgrade  = helmrelease.StatusPendingUpgrade
	StatusPendingRollback = helmrelease.StatusPendingRollback
)

// Known reports whether s is a status of Helm 3 or Helm 4.
func Known(s Status) bool {
	switch s {
	case StatusUnknown, StatusDeployed, StatusUninstalled, StatusSuperseded, StatusFailed,
		StatusUninstalling, StatusPendingInstall, StatusPendingUpgrade, StatusPendingRollback:
		return true
	}
	return false
}

// Transitioning reports whether a release with the status s is being changed by Helm, or was when Helm was interrupted.
func Transitioning(s Status) bool { return s.IsPending() || s == StatusUninstalling }

// parseStatus maps values of a newer Helm to StatusUnknown. Such a release must stay unlocked, and must stay visible:
// with an error, an older revision would look like the newest one.
func parseStatus(value string) Status {
	if s := Status(value); Known(s) {
		return s
	}
	return StatusUnknown
}
