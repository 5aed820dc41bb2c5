package drift

import (
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestEditedElementsOfSets(t *testing.T) {
	schema := Schema{root: &node{object: &object{fields: map[string]*node{"set": {list: setList, edited: true}}}},
		complete: true}
	for name, tc := range map[string]struct {
		desired, live, target string
		want                  []string
	}{
		"one was edited": {
			desired: "{set: [a, b, c]}", live: "{set: [a, x, c]}", target: "{set: [a, b, c]}",
			want: []string{"Added /set/1", "Removed /set/1"},
		},
		"all were edited": {
			desired: "{set: [1, 2]}", live: "{set: [3, 4]}", target: "{set: [1, 2]}",
			want: []string{"Added /set/0", "Removed /set/0", "Added /set/1", "Removed /set/1"},
		},
		"one was removed, and another had been added": {
			desired: "{set: [a, b]}", live: "{set: [a, x, z]}", target: "{set: [a, b, x, z]}",
			want: []string{"Removed /set/1"},
		},
		"one was removed": {
			desired: "{set: [a, b]}", live: "{set: [b]}", target: "{set: [a, b]}",
			want: []string{"Removed /set/0"},
		},
		"one was removed, and another one comes first": {
			desired: "{set: [a, b]}", live: "{set: [x, a]}", target: "{set: [x, a, b]}",
			want: []string{"Removed /set/1"},
		},
		"additions beside what is declared": {desired: "{set: [a]}", live: "{set: [x, a]}"},
	} {
		t.Run(name, func(t *testing.T) {
			desired, live := obj(t, tc.desired), obj(t, tc.live)
			got := Compare(desired, live, Options{Schema: schema})
			sameChanges(t, got.Changes, tc.want...)
			if tc.target != "" && !deepEqual(got.Target, obj(t, tc.target)) {
				t.Errorf("target is %v", got.Target)
			}
			added := len(tc.want) > 0 && tc.want[0][0] == 'A'
			check.That(t, got.RemovesForeign == added, "RemovesForeign is %t", got.RemovesForeign)
		})
	}
}

// Controllers put finalizers of their own there and take them off: one that stands where a declared one was is no edit.
func TestFinalizersAreNotExchanged(t *testing.T) {
	desired := obj(t, "{apiVersion: v1, kind: ConfigMap, metadata: {finalizers: [example.com/a]}}")
	live := obj(t, "{apiVersion: v1, kind: ConfigMap, metadata: {finalizers: [example.com/other]}}")
	got := Compare(desired, live, Options{Schema: schemaOf(schemas(t), desired)})
	sameChanges(t, got.Changes, "Removed /metadata/finalizers/0")
}
