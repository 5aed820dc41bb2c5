package manifest_test

import (
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// asKubernetes decodes one document with the libraries that Helm uses.
func asKubernetes(text string) (map[string]any, error) {
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	var content map[string]any
	err = json.Unmarshal(data, &content)
	return content, err
}

func TestValuesAreThoseThatKubernetesReads(t *testing.T) {
	for _, test := range []struct {
		yaml string
		want any
	}{
		{"3", int64(3)}, {"-0", int64(0)}, {"1.5", 1.5}, {"1.0", int64(1)}, {"1e3", int64(1000)}, {"1e21", 1e21},
		{"0644", int64(420)}, {"0x1f", int64(31)}, {"0b11", int64(3)}, {"1_000", int64(1000)}, {"0o17", int64(15)},
		{"9223372036854775807", int64(9223372036854775807)}, {"9223372036854775808", 9223372036854775808.0},
		{"123456789012345678901234567890", 123456789012345678901234567890.0},
		{"-9223372036854775808", int64(-9223372036854775808)},
		{"yes", true}, {"off", false}, {"y", true}, {"'yes'", "yes"}, {"null", nil}, {"~", nil}, {"", nil}, {"''", ""},
		{"2026-01-01", "2026-01-01"}, {"12:30", "12:30"}, {"1.2.3", "1.2.3"}, {"!!str 3", "3"},
		{"!!binary aGk=", "hi"}, {"!!binary //8=", "\ufffd\ufffd"},
		{"\"\\u00fc\\x41\"", "üA"}, {"|\n  a\n  b\n", "a\nb\n"}, {">-\n  a\n  b\n", "a b"}, {"[]", []any{}},
		{"{}", map[string]any{}},
		{"{1: a, 1.5: b, true: c, x: d}", map[string]any{"1": "a", "1.5": "b", "true": "c", "x": "d"}},
		{"{a: 1, a: 2}", map[string]any{"a": int64(2)}},
		{"{a: &x {k: v}, b: *x, c: {<<: *x, d: 1}}",
			map[string]any{"a": map[string]any{"k": "v"}, "b": map[string]any{"k": "v"},
				"c": map[string]any{"k": "v", "d": int64(1)}}},
		{"{a: &x 1, b: &x 2, c: *x}", map[string]any{"a": int64(1), "b": int64(2), "c": int64(2)}},
	} {
		text := configMap("a") + "value: " + test.yaml
		kubernetes, err := asKubernetes(text)
		check.Must(t, err == nil, "%s: %v", test.yaml, err)
		got := mustParse(t, text).Objects[0].Content
		check.That(t, reflect.DeepEqual(got, kubernetes), "%s: got %#v, Kubernetes has %#v", test.yaml, got["value"],
			kubernetes["value"])
		check.That(t, reflect.DeepEqual(got["value"], test.want), "%s: got %#v, want %#v", test.yaml, got["value"], test.want)
	}
}

func TestWindowsLineEndsMakeTheSameContent(t *testing.T) {
	unix := configMap(
		"a",
	) + "data:\n  text: |\n    one\n    two\n  folded: >\n    three\n    four\n  plain: five\n    six\n"
	windows := strings.ReplaceAll(unix, "\n", "\r\n")
	a, b := mustParse(t, unix).Objects, mustParse(t, windows).Objects
	check.That(t, reflect.DeepEqual(a, b), "got %v\nwant %v", b, a)
}

func TestAliasesShareNothing(t *testing.T) {
	set := mustParse(t, configMap("a")+"x: &x {k: v}\nother: *x\n")
	content := set.Objects[0].Content
	content["x"].(map[string]any)["k"] = "changed"
	check.That(t, content["other"].(map[string]any)["k"] == "v", "an alias shares its anchor's mapping")
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "---\n", configMap("a"), configMap("a") + "---\n# Source: b\n" + configMap("b") + "...\nx",
		"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {x: y}}\n",
		"apiVersion: v1\nkind: RoleList\nitems: [{metadata: {name: a}}]", "{\"a\":1}{\"b\":2}",
		configMap("a") + "data: {a: &x [1, 2.5, 0x1f, yes, ~], b: *x, <<: {c: d}}\n", "\ufeff--- # c\r\nkind: 1\r\n",
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, labels: {x: 1}}\nspec: {replicas: 3.0, template: {spec: {containers: [{resources: {limits: {cpu: 1000m}}}]}}}",
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a}\naggregationRule: {}\nrules: []",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		set, err := manifest.Parse(text)
		if err != nil {
			check.That(t, set == nil, "a set besides the error")
			return
		}
		seen := map[manifest.ID]bool{}
		for _, o := range set.Objects {
			check.That(t, o.ID.Kind != "" && o.ID.Name != "" && o.GVK.Version != "" && !seen[o.ID], "bad or double identity %+v",
				o)
			seen[o.ID] = true
		}
		for _, namespaced := range []bool{true, false} {
			resolved, _, err := mustParse(t, text).Resolve(manifest.Release{Namespace: "apps", Name: "podinfo"},
				always(namespaced))
			if err == nil {
				checkResolved(t, resolved, namespaced)
			}
		}
		// A single document must be what Helm's libraries make of it.
		if strings.Contains(text, "---") || len(set.Objects) != 1 || len(set.Skipped) != 0 ||
			set.Objects[0].Content["items"] != nil {
			return
		}
		kubernetes, err := asKubernetes(text)
		if err == nil && kubernetes["items"] == nil && !reflect.DeepEqual(set.Objects[0].Content, kubernetes) {
			t.Errorf("got %#v\nKubernetes has %#v", set.Objects[0].Content, kubernetes)
		}
	})
}
