package drift

import (
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// addedFields returns the additional fields of live over desired, in the form of FieldsV1, as the API server records
// them for their author.
func addedFields(t testing.TB, desired, live any, n *node) map[string]any {
	t.Helper()
	fields := map[string]any{}
	switch l := live.(type) {
	case map[string]any:
		d, _ := desired.(map[string]any)
		for key, v := range l {
			if _, declared := d[key]; !declared {
				fields["f:"+key] = wholeFields(t, v, n.field(key))
			} else if below := addedFields(t, d[key], v, n.field(key)); len(below) > 0 {
				fields["f:"+key] = below
			}
		}
	case []any:
		d, _ := desired.([]any)
		for i, e := range l {
			switch {
			case n == nil || n.list == atomicList:
			case n.list == keyedList && i < len(d):
				if below := addedFields(t, d[i], e, n.elem); len(below) > 0 {
					fields[elementNameOf(t, e, n)] = below
				}
			case i >= len(d):
				fields[elementNameOf(t, e, n)] = wholeFields(t, e, n.elem)
			}
		}
	}
	return fields
}

func wholeFields(t testing.TB, v any, n *node) map[string]any {
	t.Helper()
	fields := addedFields(t, nil, v, n)
	if len(fields) > 0 {
		fields["."] = map[string]any{}
	}
	return fields
}

func elementNameOf(t testing.TB, e any, n *node) string {
	t.Helper()
	var keys []string
	for _, k := range n.keys {
		keys = append(keys, k.field)
	}
	element, ok := pathElementOf(e, nil, keys)
	name, err := fieldpath.SerializePathElement(element)
	check.Must(t, ok && err == nil, "no name for %v: %v", e, err)
	return name
}

// TestEveryAdditionToChartManifestsIsTakenOut adds to every map and every merged list of every object.
func TestEveryAdditionToChartManifestsIsTakenOut(t *testing.T) {
	kinds := schemas(t)
	for _, desired := range corpusObjects(t) {
		t.Run(fmt.Sprint(desired["kind"], "/", at(desired, "metadata", "name")), func(t *testing.T) {
			opt := Options{Schema: schemaOf(kinds, desired)}
			live := addForeign(clone(desired), opt.Schema.root, 0).(map[string]any)
			fields := jsonOf(t, addedFields(t, desired, live, opt.Schema.root))
			opt.Strict = &Strict{ManagedFields: []metav1.ManagedFieldsEntry{
				wrote("helm", update, "", 1, strictHelm), wrote("x", update, "", 2, fields)}}
			r := checkStrict(t, desired, live, opt)
			check.Must(t, r.Target != nil, "nothing is found")
			for _, c := range r.Changes {
				if author := Attribute(opt.Strict.ManagedFields, desired, live, []Change{c},
					Owner{Manager: "helm", Operation: update})[0]; author.Manager != "x" {
					t.Errorf("%s %s is attributed to %q", c.Op, c.Path, author.Manager)
				}
			}
			got, want := clone(r.Target), clone(desired)
			// The marker has no domain, as those of Kubernetes.
			ours := keptField{path: []string{"metadata", "finalizers"}}
			for _, f := range append(keptFieldsOf(desired), ours) {
				withoutPath(got, f.path)
				withoutPath(want, f.path)
			}
			check.That(t, deepEqual(got, want), "target  %v\ndesired %v", got, want)
		})
	}
}

func withoutPath(o map[string]any, path []string) {
	last := len(path) - 1
	if parent, ok := at(o, path[:last]...).(map[string]any); ok && !slices.Contains(path, "*") {
		delete(parent, path[last])
	}
}
