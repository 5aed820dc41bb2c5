package fidelity

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// Two tools built on Helm, one after the other: a revert belongs to the one that wrote last. Its next upgrade changes
// and drops its fields without a conflict.
func TestTools_TheNewerOnesShareStays(t *testing.T) {
	const first = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {key: first}\n"
	const second = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {key: second, dropped: second}\n"
	const third = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {key: third}\n"
	type tool struct {
		helm   cluster.Helm
		manage []string // what makes its upgrade own what another tool applied
	}
	for version, helm := range kit.Helms(kit.Shared) {
		for _, order := range [][2]string{{"helm-controller", "helm"}, {"helm", "helm-controller"}} {
			t.Run(version+" "+order[0]+" then "+order[1], func(t *testing.T) {
				t.Parallel()
				w := newFixture(t)
				older, newer := w.AsTool(helm, order[0]), tool{helm: w.AsTool(helm, order[1])}
				if version == "helm 4" {
					newer.manage = []string{"--force-conflicts"}
				}
				w.Helm(older, "install", "app", w.Chart("app", first))
				w.Helm(newer.helm, append([]string{"upgrade", "app", w.Chart("app", second)}, newer.manage...)...)
				w.Lock("app")
				w.Patch(kit.ConfigMaps, "settings", `{"data":{"key":"tampered","dropped":"tampered"}}`)
				w.WaitField(kit.ConfigMaps, "settings", "data.key", "second")
				w.WaitField(kit.ConfigMaps, "settings", "data.dropped", "second")
				w.WaitReady("app", 2)
				w.Helm(newer.helm, "upgrade", "app", w.Chart("app", third))
				w.WaitReady("app", 3)
				u := w.Get(kit.ConfigMaps, "settings")
				if key, dropped := kit.Field(u, "data.key"), kit.Field(u, "data.dropped"); key != "third" ||
					dropped != nil {
					t.Errorf("after the upgrade the keys are %v and %v", key, dropped)
				}
			})
		}
	}
}

// An object missing at the beginning of a lock is created under the field manager of the tool that made the release.
// Under another one, the tool's next upgrade would be refused over a changed port, and would leave a dropped key.
func TestI4_WhatIsGoneAtTheLockIsTheToolsAgain(t *testing.T) {
	const service = `apiVersion: v1
kind: Service
metadata: {name: web, annotations: {rev: "{{ .Values.port }}"{{ if eq (int .Values.port) 80 }}, dropped: "yes"{{ end }}}}
spec: {ports: [{port: {{ .Values.port }}}], selector: {app: web}}
`
	const settings = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {key: first}\n"
	for name, test := range map[string]struct {
		chart string
		gone  func(w *fixture)
	}{
		"deleted before the lock": {service + settings, func(w *fixture) {
			w.Delete(kit.Services, "web")
			w.Lock("app")
		}},
		"the only object": {service, func(w *fixture) {
			w.Delete(kit.Services, "web")
			w.Lock("app")
		}},
		"deleted while the operator is down": {service + settings, func(w *fixture) {
			w.Lock("app")
			w.Running.Stop()
			w.Delete(kit.Services, "web")
			w.Running = kit.StartOperator(w, w.Proxy.RESTConfig(), w.Operator)
		}},
		"deleted before the lock, and the record restored from a backup": {service + settings, func(w *fixture) {
			restoreRecord(w)
			w.Delete(kit.Services, "web")
			w.Lock("app")
		}},
		"taken away before the lock, and the record restored from a backup": {service + settings, func(w *fixture) {
			restoreRecord(w)
			w.Patch(kit.Services, "web", `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"me"},
				"annotations":{"meta.helm.sh/release-name":"me","meta.helm.sh/release-namespace":"me"}}}`)
			w.Lock("app")
		}},
		"deleted while suspended": {service, func(w *fixture) {
			w.Lock("app")
			w.PatchHelmRelease("app", `{"spec":{"suspend":true}}`)
			w.WaitReason("app", "Locked", "Suspended")
			w.Delete(kit.Services, "web")
			w.PatchHelmRelease("app", `{"spec":{"suspend":false}}`)
		}},
	} {
		for version, helm := range kit.Helms(kit.Shared) {
			t.Run(version+" "+name, func(t *testing.T) {
				t.Parallel()
				w := newFixture(t)
				tool, chart := w.AsTool(helm, "helm-controller"), w.Chart("app", test.chart)
				w.Helm(tool, "install", "app", chart, "--set", "port=80")
				test.gone(w)
				w.WaitNewObject(kit.Services, "web", "")
				w.WaitReady("app", 1)
				w.Eventually("it is the tool's alone", func() error {
					for _, e := range w.Get(kit.Services, "web").GetManagedFields() {
						if e.Manager != "helm-controller" {
							return fmt.Errorf("%s owns %s", e.Manager, e.FieldsV1.GetRawBytes())
						}
					}
					return nil
				})
				w.Helm(tool, "upgrade", "app", chart, "--set", "port=81")
				w.WaitReady("app", 2)
				u := w.Get(kit.Services, "web")
				if ports := kit.Field(u, "spec.ports").([]any); len(ports) != 1 || u.GetAnnotations()["dropped"] != "" {
					t.Errorf("after the upgrade there are the ports %v and the annotations %v", ports, u.GetAnnotations())
				}
			})
		}
	}
}

// restoreRecord creates the record of release app anew, as a backup tool does.
func restoreRecord(w *fixture) {
	records := w.Kube.CoreV1().Secrets(w.Apps)
	record, err := records.Get(w.Ctx, "sh.helm.release.v1.app.v1", metav1.GetOptions{})
	check.NoError(w, err)
	check.NoError(w, records.Delete(w.Ctx, record.Name, metav1.DeleteOptions{}))
	record.ResourceVersion, record.UID, record.ManagedFields = "", "", nil
	_, err = records.Create(w.Ctx, record, metav1.CreateOptions{FieldManager: "velero-server"})
	check.NoError(w, err)
}
