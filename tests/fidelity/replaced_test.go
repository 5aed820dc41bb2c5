package fidelity

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// isHelms returns an error for a Service unless Helm applied it, and nobody else owns a declared field.
func (w *fixture) isHelms(name string) error {
	u, applied := w.Get(kit.Services, name), false
	if u == nil {
		return errors.New("it does not exist")
	}
	for _, e := range u.GetManagedFields() {
		owned := string(e.FieldsV1.GetRawBytes())
		switch {
		case e.Manager == "helm" && e.Operation == metav1.ManagedFieldsOperationApply:
			applied = true
		case strings.Contains(owned, "f:rev") || strings.Contains(owned, `"f:port"`) || strings.Contains(owned, "f:app"):
			return fmt.Errorf("%s owns %s", e.Manager, owned)
		}
	}
	if !applied {
		return errors.New("Helm has not applied it")
	}
	return nil
}

// Somebody replaces an object while it is not enforced: its creator owns all of it, Helm's metadata included. With
// Helm 4, the next upgrade would be refused for each changed field.
func TestI4_AReplacedObjectIsHelmsAgain(t *testing.T) {
	const service = `apiVersion: v1
kind: Service
metadata: {name: web, annotations: {rev: "{{ .Values.port }}"}}
spec: {ports: [{port: {{ .Values.port }}}], selector: {app: web}}
`
	const settings = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {key: first}\n"
	for name, test := range map[string]struct {
		chart   string
		applies bool
		after   func(w *fixture)
	}{
		"as it was":                {service + settings, false, func(*fixture) {}},
		"as it was, only object":   {service, false, func(*fixture) {}},
		"as it was, by an apply":   {service + settings, true, func(*fixture) {}},
		"only object, by an apply": {service, true, func(*fixture) {}},
		"then changed": {service + settings, false, func(w *fixture) {
			w.Patch(kit.Services, "web", `{"spec":{"ports":[{"port":81}]}}`)
		}},
		"then deleted": {service + settings, false, func(w *fixture) { w.Delete(kit.Services, "web") }},
		"deleted, and the other object replaced, before the lock": {service + settings, false, func(w *fixture) {
			w.DeleteHelmRelease("app")
			w.replace(kit.ConfigMaps, anew(w.Get(kit.ConfigMaps, "settings")), false)
			w.Delete(kit.Services, "web")
			// The other object is not Helm's again before this one is created.
			others := w.Proxy.HoldRequests(cluster.ForResource("configmaps", http.MethodPatch))
			w.CreateHelmRelease("app")
			w.WaitNewObject(kit.Services, "web", "")
			others.Release()
			w.WaitReady("app", 1)
		}},
	} {
		for version, helm := range kit.Helms(kit.Shared) {
			t.Run(version+" "+name, func(t *testing.T) {
				t.Parallel()
				w := newFixture(t)
				chart := w.Chart("app", test.chart)
				w.Helm(helm, "install", "app", chart, "--set", "port=80")
				w.Lock("app")
				w.whileSuspended(func() { w.replace(kit.Services, anew(w.Get(kit.Services, "web")), test.applies) })
				w.WaitReady("app", 1)
				test.after(w)
				if version == "helm 4" {
					w.Eventually("the declared fields are Helm's alone", func() error { return w.isHelms("web") })
				}
				w.WaitField(kit.Services, "web", "spec.ports.0.port", int64(80))
				w.Helm(helm, "upgrade", "app", chart, "--set", "port=8080")
				w.WaitReady("app", 2)
				ports := kit.Field(w.Get(kit.Services, "web"), "spec.ports").([]any)
				check.That(t, len(ports) == 1 && ports[0].(map[string]any)["port"] == int64(8080),
					"after the upgrade the ports are %v", ports)
			})
		}
	}
}
