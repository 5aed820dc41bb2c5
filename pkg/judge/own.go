package judge

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
)

// Own says which objects the operator itself works with. The zero value knows only what every operator works with.
type Own struct {
	// Namespace is where the operator's objects are, Name its controller name.
	Namespace, Name string
	// Fence is the name of the Secret that orders the operator's watches.
	Fence string
}

// recordPrefix begins the names of the records of every Helm release, in Secrets and in ConfigMaps.
const recordPrefix = "sh.helm.release.v1."

// Reserved says why no release may track an object, whatever its manifest declares; it is empty for any other
// object. To revert one of these would take away the operator's leadership, fight with what users ask of the
// operator, or undo what Helm records. CustomResourceDefinitions are not among them: the operator's own chart
// declares its own.
func (own Own) Reserved(o manifest.Object) string {
	id, mine := o.ID, own.Name != "" && o.ID.Namespace == own.Namespace
	switch id.GroupKind() {
	case schema.GroupKind{Group: "helm.cattle.io", Kind: "HelmRelease"}:
		return "a HelmRelease says what the operator does; it is not locked itself"
	case schema.GroupKind{Group: "coordination.k8s.io", Kind: "Lease"}:
		// The lease of a shard has a suffix.
		if mine && (id.Name == own.Name || strings.HasPrefix(id.Name, own.Name+"-")) {
			return "the operator elects its leader by this Lease"
		}
	case schema.GroupKind{Kind: "Secret"}:
		if mine && id.Name == own.Fence {
			return "the operator orders its watches by this Secret"
		}
		if o.Content["type"] == release.SecretType || strings.HasPrefix(id.Name, recordPrefix) {
			return "it is a record of a Helm release, which only Helm writes"
		}
	case schema.GroupKind{Kind: "ConfigMap"}:
		if strings.HasPrefix(id.Name, recordPrefix) {
			return "it is a record of a Helm release, which only Helm writes"
		}
	}
	return ""
}
