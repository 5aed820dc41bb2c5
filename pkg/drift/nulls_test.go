package drift

import (
	"fmt"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestDeclaredNulls(t *testing.T) {
	const data, custom = "{apiVersion: v1, kind: ConfigMap, data: ", "{apiVersion: x.io/v1, kind: X, spec: "
	s := schemas(t)
	for name, tc := range map[string]struct {
		desired, canonical, later, target string
		want                              []string
	}{
		"an empty text in its place was changed": {
			desired: data + "{a: null}}", canonical: data + `{a: ""}}`, later: data + "{a: x, b: c}}", target: data +
				`{a: "", b: c}}`,
			want: []string{"Modified /data/a"},
		},
		"an empty text in its place was removed": {
			desired: data + "{a: null, b: c}}", canonical: data + `{a: "", b: c}}`, later: data +
				"{b: c}}", target: data + `{a: "", b: c}}`,
			want: []string{"Removed /data/a"},
		},
		"it was absent, as after an upgrade by Helm 3, and others set it": {
			desired: data + "{a: null, b: c}}", canonical: data + "{b: c}}", later: data + "{a: x, b: c}}",
		},
		"one of a custom resource was changed": {
			desired: custom + "{a: null}}", canonical: custom + "{a: null}}", later: custom +
				"{a: {b: c}}}", target: custom + "{a: null}}",
			want: []string{"Modified /spec/a"},
		},
		"one of a custom resource was removed": {
			desired: custom + "{a: null, b: 1}}", canonical: custom + "{a: null, b: 1}}", later: custom +
				"{b: 1}}", target: custom + "{a: null, b: 1}}",
			want: []string{"Removed /spec/a"},
		},
		"one inside of a list was changed": {
			desired: custom + "{l: [{a: null}, {}]}}", canonical: custom + "{l: [{a: null}, {}]}}", later: custom +
				"{l: [{a: 1}, {}]}}",
			target: custom + "{l: [{a: null}, {}]}}", want: []string{"Modified /spec/l/0/a"},
		},
		"one inside of an element that was changed": {
			desired: custom + "{l: [{a: null, b: 1}]}}", canonical: custom + "{l: [{a: null, b: 1}]}}", later: custom +
				"{l: [{a: null, b: 2}]}}",
			target: custom + "{l: [{a: null, b: 1}]}}", want: []string{"Modified /spec/l/0/b"},
		},
		"a default in its place was changed": {
			desired: custom + "{a: null}}", canonical: custom + "{a: 5}}", later: custom + "{a: 6}}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			desired, canonical, later := obj(t, tc.desired), obj(t, tc.canonical), obj(t, tc.later)
			opt := Options{Schema: schemaOf(s, desired)}
			sameChanges(t, Compare(desired, canonical, opt).Changes)
			opt.Accepted = Learn(desired, canonical, opt)
			sameChanges(t, Compare(desired, canonical, opt).Changes)
			got := Compare(desired, later, opt)
			sameChanges(t, got.Changes, tc.want...)
			if tc.target == "" {
				return
			}
			check.That(t, deepEqual(got.Target, obj(t, tc.target)), "target is %v", got.Target)
			sameChanges(t, Compare(desired, got.Target, opt).Changes)
		})
	}
}

func TestNullsInAListWithKeysAreFoundByTheKey(t *testing.T) {
	schema := compiled(t, `{l: `+listMap+`}`)
	desired := obj(t, `{spec: {l: [{name: a, v: null}, {name: b}]}}`)
	learnt := Learn(desired, obj(t, `{spec: {l: [{name: b}, {name: a, v: null}]}}`), Options{Schema: schema})
	got := Compare(desired, obj(t, `{spec: {l: [{name: b}, {name: a, v: 1}]}}`), Options{Schema: schema, Accepted: learnt})
	sameChanges(t, got.Changes, "Modified /spec/l/0/v")
}

// A declared null that was not kept is no declaration.
func TestStrictTakesOutWhatIsDeclaredAsNull(t *testing.T) {
	desired, live := obj(t, `{apiVersion: x.io/v1, kind: X, spec: {a: null}}`),
		obj(t, `{apiVersion: x.io/v1, kind: X, spec: {a: 1}}`)
	got := Compare(desired, live, strictOptions(t, desired,
		entries{wrote("helm", update, "", 1, strictHelm), by(`{"f:spec":{"f:a":{}}}`)}))
	sameChanges(t, got.Changes, "Added /spec/a")
}

func TestJSONPatch(t *testing.T) {
	for name, tc := range map[string]struct {
		live, target, want string
		nulls              bool
	}{
		"a null is set":    {`{a: {b: 1}}`, `{a: {b: null}}`, `[{"op":"add","path":"/a/b","value":null}]`, true},
		"a null is there":  {`{a: null}`, `{a: null}`, `null`, false},
		"one in a new map": {`{}`, `{a: {b: null}}`, `[{"op":"add","path":"/a","value":{"b":null}}]`, true},
		"one is taken out": {`{a: null, b: 1}`, `{b: 2}`,
			`[{"op":"remove","path":"/a","value":null},{"op":"add","path":"/b","value":2}]`, false},
		"one inside of a list": {`{a: [1]}`, `{a: [null]}`, `[{"op":"add","path":"/a","value":[null]}]`, true},
		"one in an element of a list": {`{a: [{b: null, c: 1}]}`, `{a: [{b: null, c: 2}]}`,
			`[{"op":"add","path":"/a","value":[{"b":null,"c":2}]}]`, true},
		"one in a list that is there": {`{a: [{b: null}]}`, `{a: [{b: null}]}`, `null`, false},
		"a key with a slash":          {`{}`, `{a/b: 1}`, `[{"op":"add","path":"/a~1b","value":1}]`, false},
	} {
		t.Run(name, func(t *testing.T) {
			live, target := obj(t, tc.live), obj(t, tc.target)
			check.Equal(t, jsonOf(t, JSONPatch(live, target)), tc.want, "patch")
			check.Equal(t, SetsNull(live, target), tc.nulls, "SetsNull is %t", !tc.nulls)
		})
	}
}

func TestLearntNullsAreBounded(t *testing.T) {
	spec := map[string]any{}
	for i := range 10 * maxNulls {
		spec[fmt.Sprintf("key-%05d", i)] = nil
	}
	object := map[string]any{"spec": spec}
	learnt := Learn(object, object, Options{})
	_, first := learnt["/spec/key-00000"+nullSuffix]
	check.That(t, len(learnt) == maxNulls && first, "%d nulls are learnt", len(learnt))
}
