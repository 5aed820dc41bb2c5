package manifest

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Helm's ownership metadata. Helm sets it on every live object and stores it nowhere; without it, Helm refuses to
// upgrade the object.
const (
	ManagedByLabel             = "app.kubernetes.io/managed-by"
	ManagedByHelm              = "Helm"
	ReleaseNameAnnotation      = "meta.helm.sh/release-name"
	ReleaseNamespaceAnnotation = "meta.helm.sh/release-namespace"
)

// serverOwned are the metadata fields that only the API server writes.
var serverOwned = []string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields",
	"resourceVersion",
	"selfLink", "uid",
}

// Resolve returns the desired state of each object, in the manifest's order. It changes the objects of s, which must
// not be used afterwards: a copy of a large manifest would take as much memory again.
//
// A namespaced object without a namespace gets the release's; a cluster-scoped object loses a declared one. Helm's
// ownership metadata overrides the chart's. Resolve drops status and the metadata that the server owns. It drops null
// values in mappings where the API server ignores them, which it does in most places; in lists they count as elements,
// and stay. It drops the rules of an aggregated ClusterRole, which a controller fills in. The stringData of a Secret is
// folded into data. Leaves have their Canonical form.
//
// Objects of unknown kinds are in unknown, as parsed: share their Content, do not change it. Resolve returns an error
// and no objects for any other error of scope, and for an object that the API could never accept.
func (s *Set) Resolve(release Release, scope Scope) (resolved, unknown []Object, err error) {
	type answer struct {
		namespaced bool
		err        error
	}
	asked := map[schema.GroupVersionKind]answer{}
	for _, object := range s.Objects {
		a, found := asked[object.GVK]
		if !found {
			a.namespaced, a.err = scope(object.GVK)
			asked[object.GVK] = a
		}
		switch {
		case meta.IsNoMatchError(a.err):
			unknown = append(unknown, object)
			continue
		case a.err != nil:
			return nil, nil, fmt.Errorf("find the scope of %s: %w", object.ID, a.err)
		}
		desired, err := object.resolve(release, a.namespaced)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", object.ID, err)
		}
		resolved = append(resolved, desired)
	}
	// With their namespaces filled in, two objects can turn out to be one.
	return lastOfEach(resolved, func(int) {}), unknown, nil
}

func (o Object) resolve(release Release, namespaced bool) (Object, error) {
	content := o.Content
	live := unstructured.Unstructured{Object: content}
	switch {
	case !namespaced:
		o.ID.Namespace = ""
	case o.ID.Namespace == "":
		o.ID.Namespace = release.Namespace
	}
	live.SetNamespace(o.ID.Namespace)
	own(&live, release)

	delete(content, "status")
	if metadata, ok := content["metadata"].(map[string]any); ok {
		for _, field := range serverOwned {
			delete(metadata, field)
		}
	}
	o.dropNulls()
	switch o.ID.GroupKind() {
	case schema.GroupKind{Kind: "Secret"}:
		folded, err := foldStringData(content)
		if err != nil {
			return Object{}, err
		}
		for _, key := range folded {
			o.set(nil, "stringData", key)
		}
	case schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:
		// The controller tests whether there is a rule at all: an empty one aggregates nothing and clears rules.
		if _, aggregated := content["aggregationRule"].(map[string]any); aggregated {
			delete(content, "rules")
			delete(o.Blank, "rules")
		}
	}
	o.Content = Canonical(content, o.GVK)
	return o, nil
}

// own sets Helm's ownership metadata as Helm does. As in Helm, labels or annotations with a value other than text are
// lost as a whole, and null becomes empty text.
func own(live *unstructured.Unstructured, release Release) {
	live.SetLabels(labels.Merge(live.GetLabels(), labels.Set{ManagedByLabel: ManagedByHelm}))
	live.SetAnnotations(labels.Merge(live.GetAnnotations(), labels.Set{
		ReleaseNameAnnotation: release.Name, ReleaseNamespaceAnnotation: release.Namespace,
	}))
}

// foldStringData merges stringData into data, over existing keys, as the API server does to a Secret. It returns the
// keys.
func foldStringData(secret map[string]any) ([]string, error) {
	declared, found := secret["stringData"]
	if !found {
		return nil, nil
	}
	text, ok := declared.(map[string]any)
	if !ok {
		return nil, errors.New("stringData is not a mapping")
	}
	delete(secret, "stringData")
	maps.DeleteFunc(text, func(_ string, value any) bool { return value == nil })
	if len(text) == 0 {
		return nil, nil
	}
	data, ok := secret["data"].(map[string]any)
	if !ok {
		if _, found := secret["data"]; found {
			return nil, errors.New("data is not a mapping")
		}
		data = map[string]any{}
		secret["data"] = data
	}
	for key, value := range text {
		plain, ok := value.(string)
		if !ok {
			return nil, fmt.Errorf("stringData[%q] is not text", key)
		}
		data[key] = base64.StdEncoding.EncodeToString([]byte(plain))
	}
	return slices.Collect(maps.Keys(text)), nil
}
