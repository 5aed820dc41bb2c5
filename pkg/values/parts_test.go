package values

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// A value may be unset, and a part of a text; and a Secret may declare as stringData the field that other commands name
// as data.
func TestAskAboutPartsAndStringData(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"Chart.yaml":  "apiVersion: v2\nname: shop\nversion: 1.2.0\n",
		"values.yaml": "password: secret\n",
		"templates/all.yaml": `
apiVersion: v1
kind: Pod
metadata: {name: shop}
spec:
  containers:
  - name: web
    image: "registry/{{ .Values.name | default "shop" }}:{{ .Values.tag | default .Chart.Version }}"
---
apiVersion: v1
kind: Secret
metadata: {name: shop}
stringData: {password: {{ .Values.password }}}
`,
	} {
		check.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700))
		check.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	s := recorded(t, dir, "{}")
	for _, test := range []struct{ object, path, wanted, key, value string }{
		{"Pod/shop", "spec.containers[web].image", "registry/shop:1.3.0", "tag", "1.3.0"},
		{"Pod/shop", "spec.containers[web].image", "registry/other:1.2.0", "name", "other"},
		{"Secret/shop", "data.password", "aHVudGVyMg==", "password", "hunter2"},
		{"Secret/shop", "stringData.password", "hunter2", "password", "hunter2"},
	} {
		a := ask(t, s, test.object, test.path, test.wanted)
		check.That(t,
			len(a.Settings) == 1 && len(a.Settings[0].Key) == 1 && a.Settings[0].Key[0] == test.key &&
				a.Settings[0].Wanted == test.value, "%s=%s: %+v, %s", test.path, test.wanted, a.Settings, a.Governor)
	}
}

// The large chart has the size of kube-prometheus-stack.
const largeObjects, largeValues = 120, 4200

// largeChart returns the recorded release of a chart with one template for each object, and many values for each.
func largeChart(t testing.TB) *Source {
	t.Helper()
	dir := t.TempDir()
	check.NoError(t, os.Mkdir(filepath.Join(dir, "templates"), 0o700))
	var values strings.Builder
	values.WriteString("global: {suffix: prod}\n")
	for i := range largeObjects {
		fmt.Fprintf(&values, "part%d:\n  enabled: true\n  replicas: 3\n  settings:\n", i)
		var lines strings.Builder
		for k := range largeValues/largeObjects - 2 {
			// Every part has the same values, so the text of a field fits many of them.
			fmt.Fprintf(&values, "    key%d: \"setting %d\"\n", k, k)
			fmt.Fprintf(&lines, "  key%[2]d: {{ .Values.part%[1]d.settings.key%[2]d | quote }}\n", i, k)
		}
		template := fmt.Sprintf(`{{- if .Values.part%[1]d.enabled }}
apiVersion: v1
kind: ConfigMap
metadata:
  name: part%[1]d-{{ .Values.global.suffix }}
data:
  replicas: {{ .Values.part%[1]d.replicas | quote }}
%[2]s{{- end }}
`, i, lines.String())
		check.NoError(t, os.WriteFile(filepath.Join(dir, "templates", fmt.Sprintf("part%d.yaml", i)), []byte(template), 0o600))
	}
	check.NoError(t, os.WriteFile(filepath.Join(dir, "values.yaml"), []byte(values.String()), 0o600))
	check.NoError(t, os.WriteFile(filepath.Join(dir, "Chart.yaml"),
		[]byte("apiVersion: v2\nname: large\nversion: 1.0.0\n"), 0o600))
	return recorded(t, dir, `{}`)
}

// Marks show the value behind a field, so that a chart with thousands of values takes no more renderings than a small
// one.
func TestRendersOfALargeChart(t *testing.T) {
	a := ask(t, largeChart(t), "ConfigMap/part77-prod", "data.key5", "another")
	check.Must(t, len(a.Settings) == 1 && strings.Join(a.Settings[0].Key, ".") == "part77.settings.key5",
		"the answer is %+v", a)
	check.That(t, a.Renders <= 8, "it took %d renderings", a.Renders)
}

// BenchmarkLargeChart answers one field of a large chart from its record. trials/op are the renderings of a search
// without marks: one for each value that is equal to the field, and stands for a change of it.
func BenchmarkLargeChart(b *testing.B) {
	s := largeChart(b)
	renders := 0
	for b.Loop() {
		renders += ask(b, s, "ConfigMap/part77-prod", "data.key5", "another").Renders
	}
	b.ReportMetric(float64(renders)/float64(b.N), "renders/op")
	b.ReportMetric(largeObjects, "trials/op")
}
