// Package helm names the API group of helm-locker. Its versions are the packages below it.
package helm

// GroupName is the API group that HelmRelease belongs to.
const GroupName = "helm.cattle.io"
