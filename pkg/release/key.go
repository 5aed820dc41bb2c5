package release

import "k8s.io/apimachinery/pkg/util/validation"

// maxName is the length that Helm allows for the name of a release.
const maxName = 53

// Key names a release. Helm release names are unique in a namespace.
type Key struct {
	Namespace string
	Name      string
}

// String returns "namespace/name".
func (k Key) String() string { return k.Namespace + "/" + k.Name }

// KeyOf returns the release of that name in that namespace, and the zero Key where Helm could have no such release: the
// namespace must be a name of one, and the name one that Helm accepts. Every text that a tenant may have written (an
// annotation, above all) becomes a Key here and nowhere else, because a Key becomes a part of requests.
func KeyOf(namespace, name string) Key {
	if len(validation.IsDNS1123Label(namespace)) > 0 || len(name) > maxName ||
		len(validation.IsDNS1123Subdomain(name)) > 0 {
		return Key{}
	}
	return Key{Namespace: namespace, Name: name}
}
