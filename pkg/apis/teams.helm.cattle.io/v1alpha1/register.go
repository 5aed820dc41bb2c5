package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	teams "github.com/rancher/helm-locker/pkg/apis/teams.helm.cattle.io"
)

// Kind and ResourceName are the names of ReleaseLock in manifests and in URLs.
const (
	Kind         = "ReleaseLock"
	ResourceName = "releaselocks"
)

// Version is the API version of this package.
const Version = "v1alpha1"

// SchemeGroupVersion is the group and version of this package.
var SchemeGroupVersion = schema.GroupVersion{Group: teams.GroupName, Version: Version}

// AddToScheme adds the types of this package to a scheme, for clients to encode and decode them.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion, &ReleaseLock{}, &ReleaseLockList{})
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}
