package drift

import (
	"slices"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// Helm may have seen the state before the write, and found it as the newer revision declares it.
func TestAmendRestoresOnlyWhatTheWriteTookFromTheNewerRevision(t *testing.T) {
	const (
		one     = `{"data":{"value":"one","other":"same"}}`
		two     = `{"data":{"value":"two","other":"same"}}`
		without = `{"data":{"other":"same"}}`
	)
	for name, tc := range map[string]struct {
		old, undo, desired, live string
		changes                  []string
		target                   string
	}{
		"a value that the newer revision declares, too": {
			old: one, undo: `{"data":{"value":"two"}}`, desired: two, live: one, changes: []string{"/data/value"},
			target: two},
		"a value that no revision declares": {old: one, undo: `{"data":{"value":"tampered"}}`, desired: two, live: one},
		"what Helm has not come to yet": {
			old: `{"data":{"value":"one","other":"old"}}`, undo: `{"data":{"value":"two"}}`,
			desired: `{"data":{"value":"two","other":"new"}}`,
			live:    `{"data":{"value":"one","other":"old"}}`, changes: []string{"/data/value"},
			target: `{"data":{"value":"two","other":"old"}}`},
		"Helm wrote later": {old: one, undo: `{"data":{"value":"two"}}`, desired: two, live: two},
		"another change since": {old: one, undo: `{"data":{"value":"two"}}`, desired: two,
			live: `{"data":{"value":"x","other":"same"}}`},
		"the revisions are alike": {old: one, undo: `{"data":{"value":"two"}}`, desired: one, live: one},
		"a key that was removed": {old: one, undo: `{"data":{"value":null}}`, desired: without, live: one,
			changes: []string{"/data/value"}, target: without},
		"a key that Helm will remove": {old: one, undo: `{"data":{"value":"tampered"}}`, desired: without, live: one},
		"all data that was removed": {old: one, undo: `{"data":null}`, desired: `{}`, live: one,
			changes: []string{"/data"}, target: `{}`},
		"all data that was removed, and that Helm has not come to yet": {old: one, undo: `{"data":null}`, desired: two,
			live: one},
		"a key that changed since": {old: one, undo: `{"data":{"value":null}}`, desired: without, live: two},
	} {
		t.Run(name, func(t *testing.T) {
			written := Overtaken{Old: obj(t, tc.old)}
			if tc.undo != "" {
				written.Undo = obj(t, tc.undo)
			}
			desired, live := obj(t, tc.desired), obj(t, tc.live)
			a := written.Amend(desired, live, Options{})
			changes := paths(a.Changes)
			check.That(t, slices.Equal(changes, tc.changes), "changes %q, want %q", changes, tc.changes)
			if tc.target == "" {
				check.That(t, a.Target == nil, "target %v, want none", a.Target)
				return
			}
			check.That(t, deepEqual(a.Target, obj(t, tc.target)), "target %v, want %s", a.Target, tc.target)
			check.That(t, deepEqual(live, obj(t, tc.live)) && deepEqual(written.Old, obj(t, tc.old)),
				"the arguments were changed")
		})
	}
}

// In a list with keys the order of the revisions does not matter, and what is ignored stays.
func TestAmendOfAListAndWhatIsIgnored(t *testing.T) {
	container := func(name, image string) map[string]any { return map[string]any{"name": name, "image": image} }
	deployment := func(replicas int64, containers ...any) map[string]any {
		return map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "app"},
			"spec": map[string]any{"replicas": replicas,
				"template": map[string]any{"spec": map[string]any{"containers": containers}}}}
	}
	old := deployment(2, container("main", "m:1"), container("side", "s:1"))
	desired := deployment(3, container("side", "s:2"), container("main", "m:2"))
	before := deployment(3, container("main", "m:1"), container("side", "s:2"))
	live := deployment(2, container("main", "m:1"), container("side", "s:1"))
	opt := Options{Schema: schemaOf(schemas(t), desired),
		Ignore: func(p []string) bool { return len(p) == 2 && p[1] == "replicas" }}
	a := Overtaken{Old: old, Undo: MergePatch(live, before)}.Amend(desired, live, opt)
	check.Must(t, len(a.Changes) == 1 && a.Changes[0].Path == "/spec/template/spec/containers/0/image", "changes %v",
		a.Changes)
	want := deployment(2, container("main", "m:1"), container("side", "s:2"))
	for what, got := range map[string]map[string]any{"target": a.Target, "to be applied": a.Desired} {
		left := Compare(want, got, Options{Schema: opt.Schema}).Changes
		check.That(t, len(left) == 0, "%s: %v, differs in %v", what, got, left)
	}
}
