package drift

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// strictOptions are those of scope Strict for an object with the given managed fields.
func strictOptions(t testing.TB, desired map[string]any, fields []metav1.ManagedFieldsEntry) Options {
	t.Helper()
	return Options{Schema: schemaOf(schemas(t), desired),
		Strict: &Strict{ManagedFields: fields, Helm: ManagedBy(fields)}}
}

// checkStrict is what holds for every comparison in scope Strict.
func checkStrict(t testing.TB, desired, live map[string]any, opt Options) Result {
	t.Helper()
	desiredBefore, liveBefore := clone(desired), clone(live)
	r := Compare(desired, live, opt)
	check.Must(t, deepEqual(desired, desiredBefore) && deepEqual(live, liveBefore), "Compare changed its input")
	declared := opt
	declared.Strict = nil
	inDeclared := Compare(desired, live, declared)
	for _, c := range inDeclared.Changes {
		check.That(t, slices.Contains(r.Changes, c), "%s %s is found in scope Declared only", c.Op, c.Path)
	}
	learnt := opt
	learnt.Accepted = Learn(desired, live, opt)
	if again := Compare(desired, live, learnt); len(again.Changes) > 0 {
		t.Fatalf("changes %q after learning %v", changes(again.Changes), learnt.Accepted)
	}
	if r.Target == nil {
		return r
	}
	if len(r.Changes) > len(inDeclared.Changes) && !r.RemovesForeign {
		t.Error("RemovesForeign is not set")
	}
	if again := Compare(desired, r.Target, declared); len(again.Changes) > 0 {
		t.Fatalf("the target of scope Strict lacks what is declared: %q\ndesired %v\nlive    %v\ntarget  %v",
			changes(again.Changes), desired, live, r.Target)
	}
	if again := Compare(desired, r.Target, opt); len(again.Changes) > 0 && len(inDeclared.Changes) == 0 {
		t.Fatalf("changes %q,\nand after putting them right %q", changes(r.Changes), changes(again.Changes))
	}
	checkSettles(t, desired, r, len(inDeclared.Changes) == 0, opt)
	patched := applyMergePatch(live, MergePatch(live, r.Target))
	check.Must(t, deepEqual(patched, r.Target), "the merge patch does not lead to the target")
	return r
}

// checkSettles compares again after the write of r, with the managed fields of that write. When only additions were
// taken out that finds nothing. With more faults (elements of one key, a declaration in the place of a keeper's field)
// a repair can uncover another addition, but not without end.
func checkSettles(t testing.TB, desired map[string]any, r Result, onlyAdditions bool, opt Options) {
	t.Helper()
	first, target := r, r.Target
	for round := range 4 {
		after := *opt.Strict
		after.ManagedFields = stillOwned(t, after.ManagedFields, target)
		opt.Strict = &after
		again := Compare(desired, target, opt)
		if len(again.Changes) == 0 {
			return
		}
		if onlyAdditions || round == 3 {
			t.Fatalf("changes %q, and when the managed fields reflect that they were put right %q",
				changes(first.Changes), changes(again.Changes))
		}
		target = again.Target
	}
}

// stillOwned returns managed fields without what object has no longer, as the API server would.
func stillOwned(t testing.TB, entries []metav1.ManagedFieldsEntry, object map[string]any) []metav1.ManagedFieldsEntry {
	t.Helper()
	var left []metav1.ManagedFieldsEntry
	for _, e := range entries {
		var fields map[string]any
		if e.FieldsV1 == nil || json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields) != nil {
			continue
		}
		data, err := json.Marshal(existing(fields, object))
		check.NoError(t, err)
		e.FieldsV1 = metav1.NewFieldsV1(string(data))
		left = append(left, e)
	}
	return left
}

// existing drops from fields, in the form of FieldsV1, what object does not have.
func existing(fields map[string]any, object any) map[string]any {
	out := map[string]any{}
	keep := func(name string, below map[string]any, value any) {
		if left := existing(below, value); len(left) > 0 || len(below) == 0 {
			out[name] = left
		}
	}
	for name, f := range fields {
		below, _ := f.(map[string]any)
		if name == "." {
			out[name] = below
		} else if field, ok := strings.CutPrefix(name, "f:"); ok {
			if m, ok := object.(map[string]any); ok && m[field] != nil {
				keep(name, below, m[field])
			}
		} else if l, ok := object.([]any); ok {
			for i, e := range l {
				if isNamed(e, i, name) {
					keep(name, below, e)
				}
			}
		}
	}
	return out
}

// isNamed reports whether element e of a list, at index i, is the one that FieldsV1 calls name.
func isNamed(e any, i int, name string) bool {
	element, err := fieldpath.DeserializePathElement(name)
	switch {
	case err != nil:
		return false
	case element.Index != nil:
		return *element.Index == i
	case element.Key != nil:
		return counterpart([]any{e}, element, 0) != nil
	}
	found, _ := pathElementOf(e, nil, nil)
	return found.Equals(element)
}

// realObjects returns the objects in a file of testdata by kind, with their managed fields.
func realObjects(t testing.TB, file string) map[string]*unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile("testdata/" + file)
	check.NoError(t, err)
	objects := map[string]*unstructured.Unstructured{}
	for _, doc := range strings.Split(string(data), "\n---\n") {
		u := &unstructured.Unstructured{Object: obj(t, doc)}
		objects[u.GetKind()] = u
	}
	return objects
}
