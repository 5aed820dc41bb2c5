package drift

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// crd returns a CustomResourceDefinition with one version, v1, whose spec has the given properties.
func crd(t testing.TB, properties string) map[string]any {
	t.Helper()
	return obj(t, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {
		versions: [{name: v0}, {name: v1, schema: {openAPIV3Schema: {
		type: object, properties: {metadata: {type: object}, status: {type: object, properties: {l: {
			type: array, x-kubernetes-list-type: set, items: {type: string}}}},
		spec: {type: object, properties: `+properties+`}}}}}]}}`)
}

func compiled(t testing.TB, properties string) Schema {
	t.Helper()
	s, err := schemas(t).ForDefinition(crd(t, properties), "v1")
	check.NoError(t, err)
	return s
}

const (
	listMap = `{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, properties: {name: {type: string}}}}`
	twoKeys = `{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [port, protocol],
		items: {type: object, properties: {port: {type: integer}, protocol: {type: string, default: TCP}}}}`
	stringSet = `{type: array, x-kubernetes-list-type: set, items: {type: string}}`
	atomicMap = `{type: object, x-kubernetes-map-type: atomic, properties: {a: {type: string}, b: {type: string, default: x},
		c: {type: object, properties: {d: {type: integer, default: 1}, e: {type: string}}}}}`
)

func TestCustomKindsAreComparedAsTheirDefinitionSays(t *testing.T) {
	for name, tc := range map[string]struct {
		schema        string
		desired, live string // spec
		want          []string
		foreign       bool
		target        string // spec; as desired when empty
	}{
		"an element that others added to a list-map stays": {
			schema: `{l: ` + listMap + `}`, desired: `{l: [{name: a, v: 1}]}`,
			live: `{l: [{name: b}, {name: a, v: 1, w: 2}]}`,
		},
		"a changed element of a list-map comes back beside it": {
			schema: `{l: ` + listMap + `}`, desired: `{l: [{name: a, v: 1}]}`,
			live: `{l: [{name: b}, {name: a, v: 2}]}`,
			want: []string{"Modified /spec/l/0/v"}, target: `{l: [{name: b}, {name: a, v: 1}]}`,
		},
		"a removed element of a list-map comes back": {
			schema: `{l: ` + listMap + `}`, desired: `{l: [{name: a, v: 1}, {name: c}]}`,
			live: `{l: [{name: b, x: 1}, {name: c}, {name: d}]}`,
			want: []string{"Removed /spec/l/0"}, target: `{l: [{name: b, x: 1}, {name: a, v: 1}, {name: c}, {name: d}]}`,
		},
		"an element whose key was edited goes, and the declared one comes back": {
			foreign: true,
			schema:  `{l: ` + listMap + `}`, desired: `{l: [{name: a, v: 1, w: 2}, {name: c}]}`,
			live: `{l: [{name: evil, v: 1, w: 2}, {name: c}]}`,
			want: []string{"Added /spec/l/0", "Removed /spec/l/0"},
		},
		"two keys tell elements apart, and a missing one has its default": {
			schema: `{l: ` + twoKeys + `}`, desired: `{l: [{port: 53}, {port: 53, protocol: UDP, v: 1}]}`,
			live:   `{l: [{port: 53, protocol: UDP, v: 2}, {port: 53, protocol: TCP}, {port: 54, protocol: TCP}]}`,
			want:   []string{"Modified /spec/l/1/v"},
			target: `{l: [{port: 53, protocol: UDP, v: 1}, {port: 53, protocol: TCP}, {port: 54, protocol: TCP}]}`,
		},
		"the second key was edited": {
			foreign: true,
			schema:  `{l: ` + twoKeys + `}`, desired: `{l: [{port: 53, v: 1, w: 1}]}`,
			live:   `{l: [{port: 53, protocol: UDP, v: 1, w: 1}]}`,
			want:   []string{"Added /spec/l/0", "Removed /spec/l/0"},
			target: `{l: [{port: 53, protocol: TCP, v: 1, w: 1}]}`,
		},
		"a set holds what is declared in any order": {
			schema: `{l: ` + stringSet + `}`, desired: `{l: [a, b]}`, live: `{l: [c, b, a]}`,
		},
		"a removed element of a set comes back": {
			schema: `{l: ` + stringSet + `}`, desired: `{l: [a, b]}`, live: `{l: [b, c]}`,
			want: []string{"Removed /spec/l/0"}, target: `{l: [a, b, c]}`,
		},
		"an edited element of a set goes": {
			foreign: true,
			schema:  `{l: ` + stringSet + `}`, desired: `{l: [a, b]}`, live: `{l: [c, b]}`,
			want: []string{"Added /spec/l/0", "Removed /spec/l/0"}, target: `{l: [a, b]}`,
		},
		"a set of maps": {
			foreign: true,
			schema:  `{l: {type: array, x-kubernetes-list-type: set, items: ` + atomicMap + `}}`,
			desired: `{l: [{a: "1"}, {a: "2"}]}`, live: `{l: [{a: "3", b: x}, {a: "2", b: x}]}`,
			want: []string{"Added /spec/l/0", "Removed /spec/l/0"}, target: `{l: [{a: "1"}, {a: "2", b: x}]}`,
		},
		"a list of no type is atomic": {
			schema: `{l: {type: array, items: {type: string}}}`, desired: `{l: [a]}`, live: `{l: [a, b]}`,
			want: []string{"Modified /spec/l"},
		},
		"an atomic map has the declared keys, what the server defaults, and no others": {
			schema: `{m: ` + atomicMap + `}`, desired: `{m: {a: "1", c: {e: x}}}`,
			live: `{m: {a: "1", b: x, c: {e: x, d: 1}}}`,
		},
		"a key that was added to an atomic map goes": {
			schema: `{m: ` + atomicMap + `}`, desired: `{m: {a: "1", c: {e: x}}}`,
			live: `{m: {a: "1", b: "y", z: 1, c: {e: x, d: 2}}}`,
			want: []string{"Added /spec/m/b", "Added /spec/m/c/d", "Added /spec/m/z"},
		},
		"a key that was added to a map that is not atomic stays": {
			schema: `{m: {type: object, additionalProperties: {type: string}}}`, desired: `{m: {a: "1"}}`,
			live: `{m: {a: "1", b: "2"}}`,
		},
		"a list-map below lists and maps": {
			schema:  `{m: {type: object, additionalProperties: {type: object, properties: {o: {type: array, items: {type: object, properties: {l: ` + listMap + `}}}}}}}`,
			desired: `{m: {k: {o: [{l: [{name: a, v: 1}]}]}}}`,
			live:    `{m: {k: {o: [{l: [{name: b}, {name: a, v: 1}]}]}}}`,
		},
		"an embedded resource has the metadata of any object": {
			schema:  `{o: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}}`,
			desired: `{o: {apiVersion: v1, kind: X, metadata: {finalizers: [a], annotations: {}}, l: [1]}}`,
			live:    `{o: {apiVersion: v1, kind: X, metadata: {finalizers: [b, a], labels: {b: x}}, l: [1, 2]}}`,
			want:    []string{"Modified /spec/o/l"},
			target:  `{o: {apiVersion: v1, kind: X, metadata: {finalizers: [b, a], labels: {b: x}}, l: [1]}}`,
		},
		"below unknown fields every list is atomic, below known ones not": {
			schema:  `{o: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {l: ` + stringSet + `}}}`,
			desired: `{o: {l: [a], u: [a]}}`, live: `{o: {l: [a, b], u: [a, b]}}`,
			want: []string{"Modified /spec/o/u"}, target: `{o: {l: [a, b], u: [a]}}`,
		},
		"metadata is that of any object": {schema: `{}`, desired: `{a: ""}`, live: `{}`, want: []string{"Removed /spec/a"}},
	} {
		object := func(spec string) string {
			return `{apiVersion: x.io/v1, kind: X, metadata: {name: x, labels: {a: b}, finalizers: [a]}, spec: ` + spec + `}`
		}
		t.Run(name, comparison{desired: object(tc.desired), live: object(tc.live), want: tc.want, foreign: tc.foreign,
			target: object(cmp.Or(tc.target, tc.desired)),
			with:   func(o *Options) { o.Schema = compiled(t, tc.schema) }}.run)
	}
}

func TestStrictGoesIntoTheListsOfACustomKind(t *testing.T) {
	desired := obj(t, `{apiVersion: x.io/v1, kind: X, spec: {l: [{name: a}], s: [a]}}`)
	live := obj(t, `{apiVersion: x.io/v1, kind: X, spec: {l: [{name: b}, {name: a, v: 1}], s: [a, b, c]}}`)
	opt := strictOptions(t, desired, entries{by(`{"f:spec":{"f:l":{"k:{\"name\":\"b\"}":{".":{},"f:name":{}},` +
		`"k:{\"name\":\"a\"}":{"f:v":{}}},"f:s":{"v:\"a\"":{},"v:\"b\"":{}}}}`)})
	opt.Schema = compiled(t, `{l: `+listMap+`, s: `+stringSet+`}`)
	sameChanges(t, checkStrict(t, desired, live, opt).Changes, "Added /spec/l/0", "Added /spec/l/0/v",
		"Added /spec/s/1")
}

func TestDefinitionsThatMakeNoSense(t *testing.T) {
	s := schemas(t)
	for name, text := range map[string]string{
		"empty": `{}`, "no versions": `{spec: {}}`, "versions are no list": `{spec: {versions: {}}}`,
		"another version": `{spec: {versions: [{name: v2}, {}, 1]}}`, "spec is no map": `{spec: 1}`,
	} {
		_, err := s.ForDefinition(obj(t, text), "v1")
		check.That(t, err != nil && strings.Contains(err.Error(), `"v1"`), "%s: error %v", name, err)
	}
	sch, err := s.ForDefinition(crd(t, `{}`), "v0")
	check.That(t, err == nil && len(sch.root.object.fields) == 1, "a version without a schema: %v", err)
	for name, properties := range map[string]string{
		"properties are no map": `1`, "a property is no map": `{a: 1}`,
		"properties of a property": `{a: {properties: [1]}}`,
		"items are a list":         `{a: {type: array, items: [1], x-kubernetes-list-type: map}}`,
		"no keys":                  `{a: {type: array, items: {}, x-kubernetes-list-type: map}}`,
		"keys are no list":         `{a: {type: array, items: {properties: 1}, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: name}}`,
		"a key is no name":         `{a: {type: array, items: {}, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [{}]}}`,
		"a type unknown":           `{a: {type: array, items: {}, x-kubernetes-list-type: 7}, b: {x-kubernetes-map-type: {}}, c: {x-kubernetes-embedded-resource: 1}}`,
	} {
		sch := compiled(t, properties)
		check.That(t, len(sch.root.object.fields) == 1, "%s: %v", name, sch.root.object.fields)
	}
	deep := map[string]any{"type": "array", "x-kubernetes-list-type": "set", "items": map[string]any{}}
	for range 10 * maxSchemaDepth {
		deep = map[string]any{"properties": map[string]any{"a": deep}}
	}
	n := (definition{}).compile(deep, maxSchemaDepth)
	check.That(t, n == nil, "a schema is followed without end")
}

// corpusDefinitions returns the CustomResourceDefinitions of the chart corpus.
func corpusDefinitions(t testing.TB) []map[string]any {
	t.Helper()
	files, err := filepath.Glob("../../../shared/corpus/*/*.yaml")
	check.NoError(t, err)
	var found []map[string]any
	for _, file := range files {
		data, err := os.ReadFile(file)
		check.NoError(t, err)
		for _, doc := range strings.Split("\n"+string(data), "\n---") {
			if strings.Contains(doc, "\nkind: CustomResourceDefinition") {
				found = append(found, obj(t, doc))
			}
		}
	}
	if len(found) == 0 {
		t.Skip("the corpus of chart manifests (../shared/corpus) has no CustomResourceDefinition here")
	}
	return found
}

func TestRealDefinitions(t *testing.T) {
	s := schemas(t)
	lists, properties, nodes := 0, 0, 0
	for _, d := range corpusDefinitions(t) {
		for _, v := range at(d, "spec", "versions").([]any) {
			sch, err := s.ForDefinition(d, at(v, "name").(string))
			check.NoError(t, err)
			properties += strings.Count(jsonOf(t, v), `"type":`)
			merged, all := countNodes(sch.root, map[*node]bool{sch.root.field("metadata"): true})
			lists, nodes = lists+merged, nodes+all
		}
	}
	check.That(t, lists != 0 && nodes*3 <= properties, "%d properties have %d nodes, with %d merged lists", properties,
		nodes, lists)
	t.Logf("%d properties have %d nodes, with %d merged lists", properties, nodes, lists)
}

// countNodes returns how many nodes are lists that are merged, and how many there are.
func countNodes(n *node, seen map[*node]bool) (merged, all int) {
	if n == nil || seen[n] {
		return 0, 0
	}
	seen[n], all = true, 1
	if n.list != atomicList {
		merged = 1
	}
	below := []*node{n.elem}
	if n.object != nil {
		for _, f := range n.object.fields {
			below = append(below, f)
		}
	}
	for _, b := range below {
		m, a := countNodes(b, seen)
		merged, all = merged+m, all+a
	}
	return merged, all
}

func TestReplicasAreWhereTheDefinitionHasThem(t *testing.T) {
	for path, want := range map[string]string{
		".spec.replicas": "/spec/replicas", ".spec.size": "/spec/size", ".spec.web.size": "/spec/web/size",
		"": "/spec/replicas", "spec": "/spec/replicas", ".spec.list[0]": "/spec/replicas", "..": "/spec/replicas",
		"}{.a": "/spec/replicas",
	} {
		crd := map[string]any{"spec": map[string]any{"versions": []any{map[string]any{"name": "v1",
			"subresources": map[string]any{"scale": map[string]any{"specReplicasPath": path}}}}}}
		compiled, err := schemas(t).ForDefinition(crd, "v1")
		check.NoError(t, err)
		check.Equal(t, Pointer(compiled.Replicas()...), want, "%v", path)
	}
}
