// Package manifest turns the manifest of a Helm release into the set of its desired objects. It is pure: no client, no
// logging, no context.
//
// Parse reads the YAML as Helm does, all or nothing. Resolve adds facts of the cluster and the release (the namespaced
// kinds, Helm's ownership metadata) and brings each object into the form for the comparison with the live one.
// Manifests hold Secrets: errors name documents, lines and paths, never values.
package manifest

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// ID is the identity of an object in the cluster. It has no version: all versions of a kind are views of one object.
type ID struct {
	Group     string
	Kind      string
	Namespace string
	Name      string
}

// String returns "Deployment apps/podinfo", "ClusterRole podinfo" or, for groups that Kubernetes does not ship,
// "Certificate.cert-manager.io apps/podinfo".
func (id ID) String() string {
	kind, name := id.Kind, id.Name
	if id.Group != "" && !scheme.Scheme.IsGroupRegistered(id.Group) {
		kind += "." + id.Group
	}
	if id.Namespace != "" {
		name = id.Namespace + "/" + name
	}
	return kind + " " + name
}

// Compare orders objects by kind, group, namespace and name, as the functions of package cmp do.
func (id ID) Compare(other ID) int {
	return cmp.Or(cmp.Compare(id.Kind, other.Kind), cmp.Compare(id.Group, other.Group),
		cmp.Compare(id.Namespace, other.Namespace), cmp.Compare(id.Name, other.Name))
}

// GroupKind returns the group and kind of the object.
func (id ID) GroupKind() schema.GroupKind { return schema.GroupKind{Group: id.Group, Kind: id.Kind} }

// InEitherScope returns the possible identities of an object of a kind in unknown scope: one without a namespace, and
// one with the declared namespace, or else the release's.
func (id ID) InEitherScope(release Release) []ID {
	global, namespaced := id, id
	global.Namespace = ""
	if id.Namespace == "" {
		namespaced.Namespace = release.Namespace
	}
	return []ID{global, namespaced}
}

// Object is one object of a manifest.
type Object struct {
	ID  ID
	GVK schema.GroupVersionKind
	// Content is the object as unstructured JSON: map[string]any, []any, string, bool, int64, float64 and nil.
	Content map[string]any
	// Blank is a tree of the fields that Helm sends beside Content, by keys and by the indexes of the lists of Content:
	// nulls, and the stringData of a Secret. The values of stringData are in the data of Content. Any other value is
	// left to others once the object exists. It is nil for none, and before Content is resolved.
	Blank map[string]any
	// Keep is set by the annotation helm.sh/resource-policy: keep on the object or on the List it came in: Helm
	// does not delete such an object, and neither may anyone on Helm's behalf.
	Keep bool
	// OptedOut is set by the annotations helmreleases.cattle.io/lock and helm.toolkit.fluxcd.io/driftDetection with the
	// value disabled, on the object in the manifest: its chart opts out of protection. The same annotation on a live
	// object has no effect. OptedOut objects are in the Set like all others.
	OptedOut bool
}

// Skipped is a part of a manifest that is not locked, with the reason.
type Skipped struct {
	// Doc counts the documents of the manifest from 1, empty ones too.
	Doc    int
	Kind   string
	Name   string
	Reason string
}

// String returns "Job migrate in document 3: it is a hook".
func (s Skipped) String() string {
	subject := ""
	if s.Kind != "" {
		subject = s.Kind + " "
	}
	if s.Name != "" {
		subject += s.Name + " "
	}
	return fmt.Sprintf("%sin document %d: %s", subject, s.Doc, s.Reason)
}

// Set holds the declared objects of a manifest in its order; no two have the same ID.
//
// The last declaration of an object wins, at its own place; the others are in Skipped. Helm does the same: an upgrade
// (3 and 4) writes one document after the other. (Helm 3 cannot install such a chart: its second create fails.)
type Set struct {
	Objects []Object
	Skipped []Skipped
}

// Annotations that Helm reads from manifests. Those for the operator are in the API package.
const (
	hookAnnotation = "helm.sh/hook"
	// policyAnnotation with the value PolicyKeep makes Helm keep an object instead of deleting it.
	policyAnnotation = "helm.sh/resource-policy"
	PolicyKeep       = "keep"
)

// lastOfEach drops all but the last object of each ID and reports the dropped ones by their index.
func lastOfEach(objects []Object, dropped func(index int)) []Object {
	last := make(map[ID]int, len(objects))
	for i := range objects {
		last[objects[i].ID] = i
	}
	if len(last) == len(objects) {
		return objects
	}
	kept := make([]Object, 0, len(last))
	for i := range objects {
		if last[objects[i].ID] == i {
			kept = append(kept, objects[i])
		} else {
			dropped(i)
		}
	}
	return kept
}

// Release identifies the release of a Set. A release.Key converts to it.
type Release struct {
	Namespace string
	Name      string
}

// Scope reports whether a kind is namespaced. Its error satisfies meta.IsNoMatchError (wrapped or not) when the cluster
// does not know the kind.
type Scope func(schema.GroupVersionKind) (namespaced bool, err error)
