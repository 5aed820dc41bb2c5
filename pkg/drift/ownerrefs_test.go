package drift

import (
	"slices"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestOwnersThatAreNotDeclaredGo(t *testing.T) {
	object := func(refs ...any) map[string]any {
		metadata := map[string]any{"name": "a"}
		if len(refs) > 0 {
			metadata["ownerReferences"] = refs
		}
		return map[string]any{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": metadata}
	}
	owner := func(uid string) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner-" + uid, "uid": uid}
	}
	schemas, err := NewSchemas()
	check.NoError(t, err)
	opt := Options{Schema: schemaOf(schemas, object())}
	for name, c := range map[string]struct {
		desired, live map[string]any
		with          func(*Options)
		want          []string
	}{
		"none":           {object(), object(), nil, nil},
		"one":            {object(), object(owner("1")), nil, []string{"Added /metadata/ownerReferences/0"}},
		"a declared one": {object(owner("1")), object(owner("1")), nil, nil},
		"beside a declared": {object(owner("1")), object(owner("2"), owner("1")), nil,
			[]string{"Added /metadata/ownerReferences/0"}},
		"instead of another": {object(owner("1")), object(owner("2")), nil,
			[]string{"Added /metadata/ownerReferences/0", "Removed /metadata/ownerReferences/0"}},
		"one that is adopted": {object(), object(owner("1"), owner("2")), func(o *Options) {
			o.Adopted = func(ref map[string]any) bool { return ref["uid"] == "1" }
		}, []string{"Added /metadata/ownerReferences/1"}},
		"ignored": {object(), object(owner("1")), func(o *Options) {
			o.Ignore = func(path []string) bool { return len(path) > 1 && path[1] == "ownerReferences" }
		}, nil},
		"one that comes back": {object(), object(owner("1")), func(o *Options) {
			o.Accepted = Learn(object(), object(owner("1")), *o)
		}, nil},
		"another than the one that comes back": {object(), object(owner("2")), func(o *Options) {
			o.Accepted = Learn(object(), object(owner("1")), *o)
		}, []string{"Added /metadata/ownerReferences/0"}},
	} {
		t.Run(name, func(t *testing.T) {
			opt := opt
			if c.with != nil {
				c.with(&opt)
			}
			r := Compare(c.desired, c.live, opt)
			got := changes(r.Changes)
			check.Must(t, slices.Equal(got, c.want), "%q, want %q", got, c.want)
			if len(c.want) == 0 {
				return
			}
			check.That(t, r.RemovesForeign, "a merge would leave the reference there")
			again := Compare(c.desired, r.Target, opt)
			check.That(t, len(again.Changes) == 0, "the target %v has changes %v", r.Target, again.Changes)
		})
	}
}
