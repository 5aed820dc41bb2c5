package fidelity

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
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
				key, dropped := kit.Field(u, "data.key"), kit.Field(u, "data.dropped")
				check.That(t, key == "third" && dropped == nil, "after the upgrade the keys are %v and %v", key, dropped)
			})
		}
	}
}

// upgrade is an upgrade of release app by a tool.
type upgrade func(flags ...string) error

// An object missing at the beginning of a lock is created under the field manager of the tool that made the release.
// Under another one, the tool's next upgrade would be refused over a changed port, and would leave a dropped key.
func TestI4_WhatIsGoneAtTheLockIsTheToolsAgain(t *testing.T) {
	const service = `apiVersion: v1
kind: Service
metadata: {name: web, annotations: {rev: "{{ .Values.port }}"{{ if eq (int .Values.port) 80 }}, dropped: "yes"{{ end }}}}
spec: {ports: [{port: {{ .Values.port }}}], selector: {app: web}}
`
	const settings = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {key: first}\n"
	const manager = "terraform-provider-helm_v3.0.2_x5" // or helm-controller, or any other
	for name, test := range map[string]struct {
		chart string
		gone  func(w *fixture, upgrade upgrade)
	}{
		"deleted before the lock": {service + settings, func(w *fixture, _ upgrade) {
			w.Delete(kit.Services, "web")
			w.Lock("app")
		}},
		"the only object": {service, func(w *fixture, _ upgrade) {
			w.Delete(kit.Services, "web")
			w.Lock("app")
		}},
		"deleted while the operator is down": {service + settings, func(w *fixture, _ upgrade) {
			w.Lock("app")
			w.Running.Stop()
			w.Delete(kit.Services, "web")
			w.Running = kit.StartOperator(w, w.Proxy.RESTConfig(), w.Operator)
		}},
		"deleted before the lock, and the record restored from a backup": {service + settings, func(w *fixture, _ upgrade) {
			restoreRecord(w)
			w.Delete(kit.Services, "web")
			w.Lock("app")
		}},
		"taken away before the lock, and the record restored from a backup": {service + settings, func(w *fixture, _ upgrade) {
			restoreRecord(w)
			w.Patch(kit.Services, "web", `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"me"},
				"annotations":{"meta.helm.sh/release-name":"me","meta.helm.sh/release-namespace":"me"}}}`)
			w.Lock("app")
		}},
		"deleted while suspended": {service, func(w *fixture, _ upgrade) {
			w.Lock("app")
			w.whileSuspended(func() { w.Delete(kit.Services, "web") })
		}},
		"deleted while the record is pending": {service + settings + waits,
			func(w *fixture, upgrade upgrade) {
				w.Lock("app")
				ended := make(chan error, 1)
				go func() { ended <- upgrade("--set", "waits=true") }()
				w.succeed("waits", func() { w.Delete(kit.Services, "web") })
				check.NoError(w, <-ended)
			}},
		"deleted in a later revision, after a restart": {service + settings,
			func(w *fixture, upgrade upgrade) {
				w.Lock("app")
				check.NoError(w, upgrade("--set", "note=second"))
				w.WaitReady("app", 2)
				w.Running.Stop()
				w.Running = kit.StartOperator(w, w.Proxy.RESTConfig(), w.Operator)
				w.Delete(kit.Services, "web")
			}},
	} {
		for version, helm := range kit.Helms(kit.Shared) {
			t.Run(version+" "+name, func(t *testing.T) {
				t.Parallel()
				w := newFixture(t)
				tool, chart := w.AsTool(helm, manager), w.Chart("app", test.chart)
				w.Helm(tool, "install", "app", chart, "--set", "port=80")
				test.gone(w, func(flags ...string) error {
					_, err := tool.Run(w.Ctx, append([]string{"upgrade", "app", chart, "--namespace", w.Apps, "--set",
						"port=80"}, flags...)...)
					return err
				})
				w.WaitNewObject(kit.Services, "web", "")
				w.WaitReason("app", v1alpha1.ConditionLocked, v1alpha1.ReasonLocked)
				revision := w.WaitReady("app", 0).Status.Revision
				w.Eventually("it is the tool's alone", func() error {
					for _, e := range w.Get(kit.Services, "web").GetManagedFields() {
						if e.Manager != manager {
							return fmt.Errorf("%s owns %s", e.Manager, e.FieldsV1.GetRawBytes())
						}
					}
					return nil
				})
				w.Helm(tool, "upgrade", "app", chart, "--set", "port=81")
				w.WaitReady("app", revision+1)
				u := w.Get(kit.Services, "web")
				ports := kit.Field(u, "spec.ports").([]any)
				check.That(t, len(ports) == 1 && u.GetAnnotations()["dropped"] == "",
					"after the upgrade there are the ports %v and the annotations %v", ports, u.GetAnnotations())
			})
		}
	}
}

// waits is a hook that ends when its Pod has succeeded.
const waits = `---
{{- if .Values.waits }}
apiVersion: batch/v1
kind: Job
metadata: {name: waits, annotations: {helm.sh/hook: post-upgrade}}
spec: {template: {spec: {restartPolicy: Never, automountServiceAccountToken: false, containers: [{name: c, image: c}]}}}
{{- end }}
`

// succeed waits until a Job has a Pod, does something, and ends the Pod.
func (w *fixture) succeed(job string, before func()) {
	w.Helper()
	var pod string
	w.Until("the Job has a Pod", func() (any, bool) {
		pod = w.Kubectl("get", "pods", "-l", "batch.kubernetes.io/job-name="+job, "-o", "jsonpath={.items[*].metadata.name}")
		return pod, pod != ""
	})
	before()
	w.Kubectl("patch", "pod", pod, "--subresource=status", "--type=merge", "-p", `{"status":{"phase":"Succeeded"}}`)
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
