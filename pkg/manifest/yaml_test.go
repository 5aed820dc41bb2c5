package manifest_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

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

const corpus = "../../../shared/corpus"

func TestManifestsOfRealChartsParse(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(corpus, "*", "manifest.yaml"))
	check.NoError(t, err)
	if len(files) == 0 {
		t.Skipf("no manifests of real charts in %s", corpus)
	}
	readme, err := os.ReadFile(filepath.Join(corpus, "README.md"))
	check.NoError(t, err)
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) {
			row := regexp.MustCompile(`(?m)^\| ` + name + ` \|[^|]*\|[^|]*\| (\d+) \| (\d+) \|`).FindSubmatch(readme)
			check.Must(t, row != nil, "%s is not in the README", name)
			content, err := os.ReadFile(file)
			check.NoError(t, err)
			start := time.Now()
			set := mustParse(t, string(content))
			parsed := time.Since(start)
			resolved, _, err := set.Resolve(podinfo, clusterScope)
			check.NoError(t, err)
			kept := 0
			for _, o := range resolved {
				if o.Keep {
					kept++
				}
			}
			t.Logf("%d objects, %d kept, %d skipped, %d bytes; parsed in %s, resolved in %s",
				len(resolved), kept, len(set.Skipped), len(content), parsed, time.Since(start)-parsed)
			if got := strconv.Itoa(len(resolved)); got != string(row[1]) || len(set.Skipped) != 0 {
				t.Errorf("%s objects and skipped %v, the README has %s", got, set.Skipped, row[1])
			}
			if got := strconv.Itoa(kept); got != string(row[2]) {
				t.Errorf("%s objects are kept, the README has %s", got, row[2])
			}
		})
	}
}

// oneMegabyte is a manifest like a chart full of CRDs, with one object above 256 KiB.
func oneMegabyte() string {
	var b strings.Builder
	b.WriteString("---\n# Source: big/templates/big.yaml\n" + configMap("big") + "data:\n  text: |\n")
	b.WriteString(strings.Repeat("    a line of some dashboard, as charts have them\n", 6000))
	for i := 0; b.Len() < 1<<20; i++ {
		b.WriteString("---\n# Source: big/templates/crd.yaml\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: x" +
			strconv.Itoa(i) + "\nspec:\n  versions:\n  - name: v1\n    schema:\n      openAPIV3Schema:\n        properties:\n")
		for j := range 200 {
			b.WriteString(
				"          field" + strconv.Itoa(
					j,
				) + ":\n            description: What this field is for, in a sentence or two.\n            type: string\n            maxLength: 253\n",
			)
		}
	}
	return b.String()
}

func TestBigManifestsAndBigObjectsParse(t *testing.T) {
	set := mustParse(t, oneMegabyte())
	text := set.Objects[0].Content["data"].(map[string]any)["text"].(string)
	check.That(t, len(text) >= 256<<10 && len(set.Objects) >= 10, "%d objects, the first with %d bytes",
		len(set.Objects), len(text))
}
