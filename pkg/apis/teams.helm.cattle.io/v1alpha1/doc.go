// Package v1alpha1 is the API for the members of a namespace: a ReleaseLock shows the lock of a release of their
// namespace, and pauses it for a bounded time. It gives no right on HelmReleases.
//
// +kubebuilder:object:generate=true
// +groupName=teams.helm.cattle.io
package v1alpha1
