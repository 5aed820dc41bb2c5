package judge

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	teams "github.com/rancher/helm-locker/pkg/apis/teams.helm.cattle.io"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
)

// Own names the objects of operators. The zero value knows only those of every operator.
type Own struct {
	// Namespace is where the operator's objects are, Name its controller name.
	Namespace, Name string
	// Fence is the name of the Secret for ordering the operator's watches.
	Fence string
	// Guard is the name of the Secret with the guard's certificate.
	Guard string
}

// GuardSuffix ends the names of a guard's Secret and of its registration.
const GuardSuffix = "-guard"

// settledInfix is in the names of the Secrets with the settled forms of objects.
const settledInfix = "-settled-"

// SettledName returns the name of the Secret for the settled forms of the objects of a HelmRelease, by its uid.
func (own Own) SettledName(uid types.UID) string { return own.Name + settledInfix + string(uid) }

// trustInfix is in the names of the Secrets with the trust in release records.
const trustInfix = "-trust-"

// TrustName returns the name of the Secret for the trust in the records of a HelmRelease, by its uid.
func (own Own) TrustName(uid types.UID) string { return own.Name + trustInfix + string(uid) }

// Registration returns the name of the guard's ValidatingWebhookConfiguration.
func Registration(namespace, secret string) string { return namespace + "-" + secret }

// Reserved returns the reason why no release may track an object, independent of its manifest; it is empty for any
// other object. A revert of one of these would take away the operator's leadership, fight with the operator's own
// writes or the requests of users, or undo Helm's records. Every object that an operator creates, updates or deletes
// for itself is listed here, and nowhere else.
func (own Own) Reserved(o manifest.Object) string {
	id, mine := o.ID, own.Name != "" && o.ID.Namespace == own.Namespace
	if id.Group == teams.GroupName {
		return "members of the namespace change a ReleaseLock; it is not locked itself"
	}
	switch id.GroupKind() {
	case schema.GroupKind{Group: v1alpha1.SchemeGroupVersion.Group, Kind: v1alpha1.Kind}:
		return "a HelmRelease configures the operator; it is not locked itself"
	case schema.GroupKind{Group: v1alpha1.SchemeGroupVersion.Group, Kind: v1alpha1.PolicyKind}:
		return "a HelmReleasePolicy configures the operator; it is not locked itself"
	case schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		if id.Name == v1alpha1.HelmReleaseResourceName+"."+v1alpha1.SchemeGroupVersion.Group ||
			id.Name == v1alpha1.PolicyResourceName+"."+v1alpha1.SchemeGroupVersion.Group ||
			strings.HasSuffix(id.Name, "."+teams.GroupName) {
			return "the operator works with objects of this definition"
		}
	case schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}:
		// The guards of the shards of one namespace have other Secrets.
		if own.Name != "" && (id.Name == Registration(own.Namespace, own.Guard) ||
			strings.HasPrefix(id.Name, own.Namespace+"-") && strings.HasSuffix(id.Name, GuardSuffix)) {
			return "it registers the guard of an operator"
		}
	case schema.GroupKind{Group: "coordination.k8s.io", Kind: "Lease"}:
		// The lease of a shard has a suffix.
		if mine && (id.Name == own.Name || strings.HasPrefix(id.Name, own.Name+"-")) {
			return "the operator elects its leader by this Lease"
		}
	case schema.GroupKind{Kind: "Event"}, schema.GroupKind{Group: "events.k8s.io", Kind: "Event"}:
		return "an Event records what happened; the operator writes Events, too"
	case schema.GroupKind{Kind: "Secret"}:
		return own.reservedSecret(o, mine)
	case schema.GroupKind{Kind: "ConfigMap"}:
		if strings.HasPrefix(id.Name, release.NamePrefix) {
			return "it is a record of a Helm release, which only Helm writes"
		}
	}
	return ""
}

// reservedSecret is Reserved for a Secret.
func (own Own) reservedSecret(o manifest.Object, mine bool) string {
	switch {
	case mine && o.ID.Name == own.Fence:
		return "the operator orders its watches by this Secret"
	case mine && (o.ID.Name == own.Guard || strings.HasSuffix(o.ID.Name, GuardSuffix)):
		return "it holds the certificate of the guard of an operator"
	case mine && strings.Contains(o.ID.Name, settledInfix):
		return "an operator remembers settled forms of objects in it"
	case mine && strings.Contains(o.ID.Name, trustInfix):
		return "an operator remembers in it which release records it trusts"
	case o.Content["type"] == release.SecretType || strings.HasPrefix(o.ID.Name, release.NamePrefix):
		return "it is a record of a Helm release, which only Helm writes"
	}
	return ""
}
