// Package manifest turns the manifest of a Helm release into the set of objects that the release wants. It is pure: no
// client, no logging, no context.
//
// Parse reads the YAML as Helm does, all or nothing. Resolve adds what only the cluster and the release know (which
// kinds are namespaced, Helm's ownership metadata) and brings each object into the form in which it is compared
// with the live one. Manifests hold Secrets: errors name documents, lines and paths, never values.
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

// InEitherScope returns the identities that an object of a manifest may have while it is not known whether its kind
// lives in namespaces: without a namespace, and with the one that the manifest declares, or else the release's.
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
	// Keep is set by the annotation helm.sh/resource-policy: keep on the object or on the List it came in: Helm
	// does not delete such an object, and neither may anyone on Helm's behalf.
	Keep bool
	// OptedOut is set by the annotations helmreleases.cattle.io/lock and helm.toolkit.fluxcd.io/driftDetection with
	// the value disabled, on the object itself: its chart does not want it to be protected. It comes from the
	// manifest, as all of this does; the same annotation on a live object means nothing. OptedOut objects are in
	// the Set like all others.
	OptedOut bool
}

// Skipped is something in a manifest that is not locked, and why.
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

// Set is what a manifest declares. Objects come in the manifest's order; no two have the same ID.
//
// Of an object that is declared twice, the last declaration counts, at its own place; the others are in Skipped. So
// does Helm: an upgrade (3 and 4) writes one document after the other, the last one prevails. (Helm 3 cannot
// install such a chart at all: its second create fails.)
type Set struct {
	Objects []Object
	Skipped []Skipped
}

// Annotations that Helm reads from manifests. Those for the operator are in the API package.
const (
	hookAnnotation = "helm.sh/hook"
	// policyAnnotation with the value PolicyKeep has Helm leave an object that it would otherwise delete.
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
