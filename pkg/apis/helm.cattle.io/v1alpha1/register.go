package v1alpha1

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	helm "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io"
)

// Kind and HelmReleaseResourceName are how HelmRelease is called in manifests and in URLs, PolicyKind and
// PolicyResourceName are how HelmReleasePolicy is.
const (
	Kind                    = "HelmRelease"
	HelmReleaseResourceName = "helmreleases"
	PolicyKind              = "HelmReleasePolicy"
	PolicyResourceName      = "helmreleasepolicies"
)

// Version is the API version of this package.
const Version = "v1alpha1"

// SchemeGroupVersion is the group and version of this package.
var SchemeGroupVersion = schema.GroupVersion{Group: helm.GroupName, Version: Version}

// Resource qualifies a resource name with the group of this package, for use in API errors.
func Resource(resource string) schema.GroupResource {
	return SchemeGroupVersion.WithResource(resource).GroupResource()
}

// Defaults of an operator, which its command line and the commands for people share.
const (
	// DefaultNamespace is the namespace of the HelmReleases.
	DefaultNamespace = "cattle-helm-system"
	// DefaultControllerName is the name by which an operator claims HelmReleases.
	DefaultControllerName = "helm-locker"
)
