package release

import (
	"k8s.io/apimachinery/pkg/util/validation"
)

// maxName is Helm's maximum length of a release name.
const maxName = 53

// Key names a release. Helm release names are unique in a namespace.
type Key struct {
	Namespace string
	Name      string
}

// String returns "namespace/name".
func (k Key) String() string { return k.Namespace + "/" + k.Name }

// KeyOf returns the release of that name in that namespace, and the zero Key for names that Helm or Kubernetes refuses.
// It is the only conversion of a tenant's text (above all, an annotation) to a Key, because a Key becomes part of
// requests.
func KeyOf(namespace, name string) Key {
	if len(validation.IsDNS1123Label(namespace)) > 0 || len(name) > maxName ||
		len(validation.IsDNS1123Subdomain(name)) > 0 {
		return Key{}
	}
	return Key{Namespace: namespace, Name: name}
}
