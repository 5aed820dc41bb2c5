package clitest

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// stall is a chart of several kinds.
const stall = `apiVersion: v1
kind: ConfigMap
metadata: {name: stall}
data: {color: {{ .Values.color | default "green" }}, size: "10"}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: declared
  annotations: {objectset.rio.cattle.io/owner-name: {{ .Release.Name }}}
data: {key: {{ .Values.color | default "green" }}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: theirs}
data: {key: theirs}
---
apiVersion: v1
kind: Secret
metadata: {name: stall}
stringData: {password: "{{ .Values.password }}"}
---
apiVersion: v1
kind: Service
metadata: {name: stall}
spec:
  selector: {app: stall}
  ports: [{name: http, port: {{ .Values.port | default 80 }}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: stall}
spec:
  replicas: 0
  selector: {matchLabels: {app: stall}}
  template:
    metadata: {labels: {app: stall}}
    spec:
      containers:
        - {name: stall, image: "example.org/stall:{{ .Values.tag | default 1 }}"}
`

// stallObjects are those marked by the older operator only.
var stallObjects = map[schema.GroupVersionResource][]string{
	kit.ConfigMaps: {"stall", "declared"}, kit.Secrets: {"stall"}, kit.Services: {"stall"}, kit.Deployments: {"stall"},
}

// eachObject calls do for every object of the stall.
func (w *fixture) eachObject(do func(u *unstructured.Unstructured)) {
	w.Helper()
	for gvr, names := range stallObjects {
		for _, name := range names {
			u := w.Get(gvr, name)
			if u == nil {
				w.Fatalf("there is no %s %s", gvr.Resource, name)
			}
			do(u)
		}
	}
}

// marks returns the labels and annotations of wrangler on an object, and "manager" if the older operator owns any of
// its fields.
func marks(u *unstructured.Unstructured) []string {
	var found []string
	for _, keys := range []map[string]string{u.GetLabels(), u.GetAnnotations()} {
		for key := range keys {
			if name, ok := strings.CutPrefix(key, "objectset.rio.cattle.io/"); ok {
				found = append(found, name)
			}
		}
	}
	for _, entry := range u.GetManagedFields() {
		if entry.Manager == "helm-locker" {
			found = append(found, "manager")
		}
	}
	return found
}

// underOlder installs a stall and leaves it in the state of a lock by the older operator, with drift reverted, an
// object re-created, and then drift that it did not observe.
func underOlder(t *testing.T, h cluster.Helm) (w *fixture, older *kit.OlderOperator, chart string) {
	t.Helper()
	w = newFixture(t)
	chart = w.Chart("stall", stall)
	w.Helm(h, "install", "stall", chart, "--set", "password="+secretValue)
	manifest := w.Helm(h, "get", "manifest", "stall")
	older = kit.NewOlderOperator(w.Env)
	older.HelmRelease("stall")
	older.Lock("stall", manifest)
	w.Patch(kit.ConfigMaps, "stall", `{"data":{"color":"tampered"}}`)
	w.Patch(kit.Services, "stall", `{"spec":{"selector":{"app":"tampered"}}}`)
	w.Patch(kit.ConfigMaps, "declared",
		`{"data":{"key":"tampered"}}`) // which nobody but Helm writes to after the older operator
	w.Delete(kit.Deployments, "stall")
	older.Lock("stall", manifest)
	kit.NewApplier(w.Env, "other").Apply("other", w.Apps+"/stall",
		schema.FromAPIVersionAndKind("example.com/v1", "Other"), kit.ConfigMap("theirs", "theirs"))
	w.eachObject(func(u *unstructured.Unstructured) {
		found := marks(u)
		check.Must(t, len(found) >= 5, "%s %s is not as the older operator leaves it: %v", u.GetKind(), u.GetName(), found)
	})
	return w, older, chart
}
