// Package v1alpha1 is the API of helm-locker: a HelmRelease names an existing Helm release, and the operator keeps its
// objects as Helm left them.
//
// Its constants (states, condition types and reasons, event reasons) are part of the API: scripts and alerts may depend
// on them.
//
// +kubebuilder:object:generate=true
// +groupName=helm.cattle.io
package v1alpha1
