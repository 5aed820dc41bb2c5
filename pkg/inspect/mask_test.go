package inspect

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/pkg/report"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// The declared and the live object quote each other's values: neither may get out on either side, nor in another
// object.
func TestNoValueOfEitherSideGetsOut(t *testing.T) {
	const declared, live, extra = "declared-hunter2", "live-swordfish", "extra-correcthorse"
	encoded := base64.StdEncoding.EncodeToString
	comparison, err := Compare(t.Context(), NewDump(saved(t, fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata:
  name: web
  namespace: apps
  labels: {app.kubernetes.io/managed-by: Helm, quoted: %[2]s}
  annotations:
    meta.helm.sh/release-name: web
    meta.helm.sh/release-namespace: apps
    plain: was %[1]s and is %[2]s, beside %[3]s
    encoded: %[4]s %[5]s
    kubectl.kubernetes.io/last-applied-configuration: '{"stringData":{"password":"%[2]s"}}'
data: {password: %[5]s, more: %[6]s}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: web
  namespace: apps
  labels: {app.kubernetes.io/managed-by: Helm}
  annotations: {meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: apps}
data: {url: "postgres://app:%[2]s@db/%[3]s", old: %[1]s}
`, declared, live, extra, encoded([]byte(declared)), encoded([]byte(live)), encoded([]byte(extra))))),
		details(fmt.Sprintf(`
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Secret
  metadata: {name: web, annotations: {plain: is %[1]s and not %[2]s, encoded: "", note: %[2]s}}
  stringData: {password: %[1]s}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: web}
  data: {url: "", old: ""}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: missing, annotations: {note: it was %[2]s}}
`, declared, live)), CompareOptions{Masker: report.NewMasker([]byte("key"))})
	check.NoError(t, err)
	check.Must(t, len(comparison.Differences) == 3, "%d objects differ", len(comparison.Differences))
	for _, d := range comparison.Differences {
		shown, err := json.Marshal([]any{d.Want, d.Have})
		check.NoError(t, err)
		for _, value := range []string{declared, live, extra} {
			check.That(t,
				!strings.Contains(string(shown), value) && !strings.Contains(string(shown), encoded([]byte(value))),
				"%s shows %q: %s", d.ID, value, shown)
		}
	}
}

// Markers have to tell values apart all the same.
func TestEqualValuesOfBothSidesHaveOneMarker(t *testing.T) {
	masker := report.NewMasker([]byte("key"))
	c, err := Compare(t.Context(), NewDump(saved(t, `
apiVersion: v1
kind: Secret
metadata: {name: web, namespace: apps}
stringData: {a: same-value, b: other-value}
data: {a: c2FtZS12YWx1ZQ==}
`)), details(`
apiVersion: v1
kind: Secret
metadata: {name: web}
stringData: {a: same-value, b: first-value}
`), CompareOptions{Masker: masker})
	check.Must(t, err == nil && len(c.Differences) == 1, "%v, %+v", err, c)
	have := c.Differences[0].Have["data"].(map[string]any)
	want := c.Differences[0].Want["data"].(map[string]any)
	check.That(t,
		have["a"] == want["a"] && have["a"] == masker.Mark("same-value") && want["b"] == masker.Mark("first-value"),
		"want %v, have %v", want, have)
}
