package manifest

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"

// Manifests that would take gigabytes of memory, and pass for kilobytes in a release Secret, are refused before they do.
func TestManifestsThatExhaustMemory(t *testing.T) {
	lol := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for i := 'b'; i <= 'i'; i++ {
		lol += fmt.Sprintf("%c: &%c [*%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c]\n", i, i, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1)
	}
	for name, test := range map[string]struct{ manifest, want string }{
		"a list of nothing":   {configMap + "data: [" + strings.Repeat("{},", 4<<20) + "]\n", "more than 1048576 elements"},
		"a list of numbers":   {configMap + "data:\n" + strings.Repeat("- 1\n", 2<<20), "more than 1048576 elements"},
		"keys":                {configMap + "data:\n" + strings.Repeat(" ?\n", 4<<20), "more than 1048576 elements"},
		"sixteen MiB":         {strings.Repeat("#", maxBytes) + "\n", "more than 16777216"},
		"laughs":              {lol, "excessive aliasing"},
		"many objects":        {strings.Repeat("---\napiVersion: v1\nkind: A\nmetadata: {name: a}\n", maxObjects+1), "more than 20000 objects"},
		"many small elements": {strings.Repeat("---\n"+configMap+"data: ["+strings.Repeat("{},", 1<<16)+"]\n", 17), "the manifest has more than 1048576 elements"},
		"depth":               {configMap + "data: " + strings.Repeat("[", 1<<20), "YAML"},
		"depth of keys":       {configMap + "data:\n" + strings.Repeat("- ", 1<<19) + "x\n", "YAML"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Parse(test.manifest)
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %v, want %s", err, test.want)
			}
			// All that was allocated, not what was in use at once.
			if spent := (after.TotalAlloc - before.TotalAlloc) >> 20; spent > 400 {
				t.Errorf("%d MiB for %d MiB of text", spent, len(test.manifest)>>20)
			}
		})
	}
}

// What is large for a good reason passes: text that looks like structure, and as many objects as the largest charts have.
func TestLargeManifests(t *testing.T) {
	dashboard := configMap + "data:\n  dashboard.json: |\n    {" + strings.Repeat(`"panel": [1, 2, {"a": "b"}], `, 30000) + "}\n"
	many := ""
	for i := range 5000 {
		many += fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a-%d}\ndata: {a: b}\n", i)
	}
	for name, text := range map[string]string{"a dashboard": dashboard, "many objects": many} {
		if _, err := Parse(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Names that no object can have are refused where they are read, not in requests, logs and conditions.
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
	if _, err := Parse("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: \"system:Node_1.x\"}\n"); err != nil {
		t.Error(err)
	}
}
