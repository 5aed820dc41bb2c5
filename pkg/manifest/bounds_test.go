package manifest

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"

// Manifests that would take gigabytes of memory from kilobytes in a release Secret are refused before they do.
func TestManifestsThatExhaustMemory(t *testing.T) {
	lol := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for i := 'b'; i <= 'i'; i++ {
		lol += fmt.Sprintf("%c: &%c [*%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c]\n", i, i, i-1, i-1, i-1, i-1, i-1,
			i-1, i-1, i-1, i-1)
	}
	const marks, documents = "more than 262144 characters that may begin", "more than 40000 documents"
	for name, test := range map[string]struct{ manifest, want string }{
		"a list of nothing":     {configMap + "data: [" + strings.Repeat("{},", 4<<20) + "]\n", marks},
		"a list of numbers":     {configMap + "data:\n" + strings.Repeat("- 1\n", 2<<20), marks},
		"keys":                  {configMap + "data:\n" + strings.Repeat(" ?\n", 4<<20), marks},
		"lines that end in CR":  {configMap + "data:\r" + strings.Repeat("- a: b\r", 2<<20), marks},
		"lines that end in NEL": {configMap + "data:\u0085" + strings.Repeat("-\u0085", 3<<20), marks},
		"lines that end in LS":  {configMap + "data:\u2028" + strings.Repeat("-\u2028", 3<<20), marks},
		"tabs":                  {configMap + "data:\n" + strings.Repeat("-\t-\t-\t-\t1\n", 1<<20), marks},
		"UTF-16":                {"\xff\xfe" + strings.Repeat("-\x00\x85\x00", 3<<20), "not UTF-8"},
		"sixteen MiB":           {strings.Repeat("#", maxBytes) + "\n", "more than 16777216"},
		"laughs":                {lol, "excessive aliasing"},
		"separators":            {strings.Repeat("---\n", 4<<20-1), documents},
		"JSON documents":        {strings.Repeat("{}", 8<<20), documents},
		"an object": {configMap + "data: [" + strings.Repeat("{a},", 40_000) +
			"]\n", "an object has more than 65536 elements"},
		"many objects": {strings.Repeat("---\napiVersion: v1\nkind: A\nmetadata: {name: a}\n", maxObjects+1),
			"more than 20000 objects"},
		"many hooks": {"apiVersion: v1\nkind: List\nitems: [" + strings.Repeat(hook+",", maxObjects+1) +
			"]\n", "more than 20000 objects"},
		"many small elements": {strings.Repeat("---\n"+configMap+"data: ["+strings.Repeat("{},", 1<<14)+"]\n", 17),
			"the manifest has more than 262144 elements"},
		"depth":         {configMap + "data: " + strings.Repeat("[", 1<<17), "YAML"},
		"depth of keys": {configMap + "data:\n" + strings.Repeat("- ", 1<<17) + "x\n", "YAML"},
	} {
		t.Run(name, func(t *testing.T) {
			_, spent, err := parse(test.manifest)
			check.That(t, err != nil && strings.Contains(err.Error(), test.want), "error is %v, want %s", err,
				test.want)
			check.That(t, spent <= 200, "%d MiB for %d MiB of text", spent, len(test.manifest)>>20)
		})
	}
}

// parse parses a manifest and returns the MiB allocated in total, not only those in use at once. It is the measure of
// the work, independent of a clock.
func parse(text string) (*Set, uint64, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	set, err := Parse(text)
	runtime.ReadMemStats(&after)
	return set, (after.TotalAlloc - before.TotalAlloc) >> 20, err
}

const hook = "{apiVersion: v1, kind: A, metadata: {annotations: {helm.sh/hook: a}}}"

// Manifests just within the bounds need no more memory than an operator with a limit of 256 MiB has.
func TestTheLargestManifestsThatAreTaken(t *testing.T) {
	var keys strings.Builder
	for i := range 65_000 {
		fmt.Fprintf(&keys, "k%d,", i)
	}
	for name, text := range map[string]string{
		"small mappings": strings.Repeat("---\n"+configMap+"data: ["+strings.Repeat("{a},", 32_000)+"]\n", 4),
		"pairs":          strings.Repeat("---\n"+configMap+"data:\n"+strings.Repeat("- a: b\n", 32_000), 4),
		"a mapping":      configMap + "data: {" + keys.String() + "}\n",
		"lines":          strings.Repeat("---\n"+configMap+"data:\r"+strings.Repeat("- \r", 65_000), 4),
	} {
		t.Run(name, func(t *testing.T) {
			set, spent, err := parse(text)
			check.NoError(t, err)
			check.That(t, spent <= 200, "%d MiB for %d KiB of text", spent, len(text)>>10)
			check.That(t, Large(text), "it is not taken for a large one")
			var live, freed runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&live)
			runtime.KeepAlive(set)
			runtime.GC()
			runtime.ReadMemStats(&freed)
			kept := (live.HeapAlloc - freed.HeapAlloc) >> 20
			check.That(t, kept <= 60, "the result takes %d MiB", kept)
		})
	}
}

// Large real manifests pass: text that looks like structure, and as many objects as in the largest charts.
func TestLargeManifests(t *testing.T) {
	dashboard := configMap + "data:\n  dashboard.json: |\n    {" + strings.Repeat(`"panel": [1, 2, {"a": "b"}], `,
		30000) + "}\n"
	many := ""
	for i := range 5000 {
		many += fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a-%d}\ndata: {a: b}\n", i)
	}
	lines := configMap + "data:\n  words: |\n" + strings.Repeat("    word\n", 150_000)
	for name, text := range map[string]string{"a dashboard": dashboard, "many objects": many, "a list of words": lines} {
		_, err := Parse(text)
		check.That(t, err == nil, "%s: %v", name, err)
	}
	small := ""
	for i := range 100 {
		small += fmt.Sprintf(
			"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a-%d, labels: {app: b}}\ndata: {a: b, c: d}\n", i,
		)
	}
	check.That(t, !Large(small), "a manifest of a hundred small objects is a large one")
}

// Invalid names of objects are refused by Parse, not in requests, logs and conditions.
func TestNamesThatNoObjectHas(t *testing.T) {
	for name, object := range map[string]string{
		"line end in a name":      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"a\\nb\"}\n",
		"escape in a name":        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"a\\e[2Jb\"}\n",
		"another path":            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ../../kube-system/configmaps/a}\n",
		"dots":                    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ..}\n",
		"percent":                 "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a%2Fb}\n",
		"long name":               "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + strings.Repeat("a", 254) + "}\n",
		"path in a namespace":     "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: a/b}\n",
		"direction in a name":     "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"a\\u202eb\"}\n",
		"escape in a kind":        "apiVersion: v1\nkind: \"Config\\eMap\"\nmetadata: {name: a}\n",
		"a kind of many words":    "apiVersion: v1\nkind: Config Map\nmetadata: {name: a}\n",
		"line end in a group":     "apiVersion: \"a\\nb/v1\"\nkind: ConfigMap\nmetadata: {name: a}\n",
		"path in a version":       "apiVersion: \"..\"\nkind: ConfigMap\nmetadata: {name: a}\n",
		"another path as version": "apiVersion: \"apps/..\"\nkind: ConfigMap\nmetadata: {name: a}\n",
	} {
		if set, err := Parse(object); err == nil {
			t.Errorf("%s: %+v", name, set.Objects)
		} else if strings.ContainsAny(err.Error(), "\x1b\n\u202e") {
			t.Errorf("%s: it is quoted: %q", name, err)
		}
	}
	// RBAC's names have colons and capitals.
	_, err := Parse("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: \"system:Node_1.x\"}\n")
	check.Report(t, err)
}
