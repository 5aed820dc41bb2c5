package drift

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/applyconfigurations"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	applied "sigs.k8s.io/structured-merge-diff/v6/schema"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// TestListsThatAnApplyMergesAreKnown reads the schemas of the API server for merging an apply. Each list with keys and
// each set of them must be one here, or be in the table of lists that need more than an apply. Each atomic map of them
// must be one value here.
func TestTablesFollowServerSideApply(t *testing.T) {
	s := schemas(t)
	converter := applyconfigurations.NewTypeConverter(clientscheme.Scheme)
	compared, unknown := 0, map[string]bool{}
	for gvk, kind := range s.scheme.AllKnownTypes() {
		if !strings.HasPrefix(kind.PkgPath(), "k8s.io/api/") || strings.HasSuffix(gvk.Kind, "List") {
			continue
		}
		object, err := converter.ObjectToTyped(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": gvk.GroupVersion().String(), "kind": gvk.Kind,
		}})
		if err != nil {
			continue // a kind without objects of its own, such as options of a request
		}
		w := applyWalk{schema: object.Schema(), unknown: unknown, seen: map[string]bool{}}
		w.walk(object.TypeRef(), s.For(gvk).root, gvk.Kind)
		compared += w.lists
	}
	check.That(t, compared >= 100, "only %d lists were compared", compared)
	for where := range unknown {
		t.Error(where)
	}
}

// applyWalk goes through the schema of one kind.
type applyWalk struct {
	schema  *applied.Schema
	seen    map[string]bool
	lists   int
	unknown map[string]bool
}

func (w *applyWalk) walk(ref applied.TypeRef, n *node, where string) {
	a, ok := w.schema.Resolve(ref)
	if !ok {
		return
	}
	if ref.NamedType != nil {
		if w.seen[*ref.NamedType] {
			return
		}
		where, w.seen[*ref.NamedType] = *ref.NamedType, true
	}
	if a.Map != nil && a.Map.ElementRelationship == applied.Atomic && !strings.HasPrefix(where, "__untyped") &&
		(n == nil || !n.exact && !n.whole) {
		w.unknown["for a server-side apply "+where+" is one value"] = true
	}
	switch {
	case a.List != nil:
		if a.List.ElementRelationship == applied.Associative {
			w.lists++
			if n == nil || !n.merged && !n.mergesLike(a.List.Keys) {
				w.unknown["a server-side apply merges the list "+where] = true
			}
		}
		w.walk(a.List.ElementType, n.element(), where+"[]")
	case a.Map != nil && len(a.Map.Fields) > 0:
		for _, f := range a.Map.Fields {
			if f.Name != "status" && !strings.HasSuffix(where, "Status") {
				w.walk(f.Type, n.field(f.Name), where+"."+f.Name)
			}
		}
	case a.Map != nil:
		w.walk(a.Map.ElementType, n.element(), where+"{}")
	}
}

// mergesLike reports whether the list is merged by these keys; by values, if there are none.
func (n *node) mergesLike(keys []string) bool {
	if len(keys) == 0 {
		return n.list == setList
	}
	return n.list == keyedList && len(n.keys) == len(keys) &&
		!slices.ContainsFunc(n.keys, func(k mergeKey) bool { return !slices.Contains(keys, k.field) })
}
