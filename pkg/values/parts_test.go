package values

import (
	"os"
	"path/filepath"
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
