package guard

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// shop is a chart of kinds that users change by hand.
const shop = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: {{ .Values.replicas | default 2 }}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "example.com/web:{{ .Values.tag | default 1 }}"}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {key: {{ .Values.key | default "declared" }}, other: declared}
---
apiVersion: v1
kind: Secret
metadata: {name: password}
stringData: {password: {{ .Values.password | default "correct-horse" }}}
`

// shopNames are the names of its objects.
var shopNames = map[schema.GroupVersionResource]string{
	kit.Deployments: "web", kit.ConfigMaps: "settings", kit.Secrets: "password",
}

// newShop is newFixture with the release shop, whose guard refuses changes.
func newShop(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	f.guarded(kit.Shared.Helm3(), "shop", shop)
	f.inForce(kit.ConfigMaps, "settings")
	return f
}

func TestI13_WhatPeopleDoIsRefused(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, h cluster.Helm) {
		f := newFixture(t)
		f.guarded(h, "shop", shop)
		f.inForce(kit.Deployments, "web")
		belongs := "Deployment " + f.Apps + "/web belongs to the Helm release " + f.Apps + "/shop, which is locked; "
		for _, r := range []struct {
			gvr            schema.GroupVersionResource
			words, command string
		}{
			{kit.Deployments, belongs + "spec.replicas 2 -> 5 was refused. Use \"helm upgrade shop -n " + f.Apps + "\"",
				`patch deployment web --type=merge -p {"spec":{"replicas":5}}`},
			{kit.Deployments, belongs + "spec.replicas 2 -> 3 was refused", "scale deployment web --replicas=3"},
			{kit.Deployments, "spec.template.spec.containers[0].image was refused",
				"set image deployment web web=example.com/evil:1"},
			{kit.Deployments, belongs + "its deletion was refused", "delete deployment web"},
			{kit.Deployments, "metadata.annotations[meta.helm.sh/release-name]",
				"annotate deployment web --overwrite meta.helm.sh/release-name=other"},
			{kit.ConfigMaps, "data[key] was refused",
				`patch configmap settings --type=json -p [{"op":"remove","path":"/data/key"}]`},
			{kit.ConfigMaps, "", "label configmap settings --overwrite app.kubernetes.io/managed-by-"},
			{kit.ConfigMaps, "immutable was refused", `patch configmap settings -p {"immutable":true}`},
			{kit.Secrets, "Secret " + f.Apps + "/password belongs",
				`patch secret password -p {"stringData":{"password":"battery-staple"}}`},
			{kit.Secrets, "immutable was refused", `patch secret password -p {"immutable":true}`},
		} {
			f.refused(r.gvr, shopNames[r.gvr], r.words, strings.Fields(r.command)...)
		}
		f.refusedByFiles()

		// Fields outside of the lock pass.
		f.passes("label", "deployment", "web", "team=shop")
		f.passes("rollout", "restart", "deployment", "web")
		f.passes("annotate", "configmap", "settings", "note=mine")

		// A dry run changes nothing, so it is warned about and not refused.
		out, said := f.kubectl("scale", "deployment", "web", "--replicas=4", "--dry-run=server")
		check.That(t, strings.Contains(out, "scaled") && strings.Contains(said, "Warning: helm-locker: "), "dry run: %s%s",
			out, said)
		f.reports()
	})
}

// refusedByFiles changes an object by a file, an editor and the deletion of a collection.
func (f *fixture) refusedByFiles() {
	f.Helper()
	file := filepath.Join(f.TempDir(), "settings.yaml")
	check.NoError(f, os.WriteFile(file, []byte(
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {key: mine, other: declared}}"), 0o600))
	const words = "data[key] was refused"
	f.refused(kit.ConfigMaps, "settings", words, "apply", "-f", file)
	f.refused(kit.ConfigMaps, "settings", words, "apply", "-f", file, "--server-side", "--force-conflicts")
	f.refused(kit.ConfigMaps, "settings", "data[key]", "replace", "-f", file)
	f.refused(kit.ConfigMaps, "settings", "data[key], data[other] were refused", "edit", "configmap", "settings")
	f.refused(kit.ConfigMaps, "settings", "its deletion was refused", "replace", "--force", "-f", file)
	f.refused(kit.ConfigMaps, "settings", "its deletion was refused", "delete", "configmap", "settings",
		"--cascade=orphan", "--now")
	before := f.Get(kit.ConfigMaps, "settings").GetUID()
	err := f.In(kit.ConfigMaps, f.Apps).DeleteCollection(f.Ctx, metav1.DeleteOptions{},
		metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=Helm"})
	if err == nil || !strings.Contains(err.Error(), "settings belongs to the Helm release") ||
		f.Get(kit.ConfigMaps, "settings").GetUID() != before {
		f.Errorf("the deletion of a collection: %v", err)
	}
}

// reports checks the operator's reports about the refusals of TestI13_WhatPeopleDoIsRefused, and that it wrote
// nothing.
func (f *fixture) reports() {
	f.Helper()
	f.WaitEvent("shop", v1alpha1.EventReasonDenied)
	f.Until("members of the namespace see on the objects what was refused", func() (any, bool) {
		events, err := f.Kube.CoreV1().Events(f.Apps).List(f.Ctx, metav1.ListOptions{
			FieldSelector: "reason=" + v1alpha1.EventReasonDenied})
		check.NoError(f, err)
		for i := range events.Items {
			if about := events.Items[i].InvolvedObject; about.Kind == "ConfigMap" && about.Name == "settings" {
				return about, about.UID == f.Get(kit.ConfigMaps, "settings").GetUID()
			}
		}
		return events.Items, false
	})
	f.Until("the status lists what was refused", func() (any, bool) {
		for _, r := range f.HelmRelease("shop").Status.RecentDrift {
			if r.Action == v1alpha1.DriftActionDenied && r.Object.Kind == "Secret" {
				return r, r.User == "admin" && r.Count == 1
			}
		}
		return f.HelmRelease("shop").Status.RecentDrift, false
	})
	text := kit.Metrics(f, f.Running)
	check.That(f, strings.Contains(text, `guard_decisions_total{reason="Drift",result="denied"}`),
		"the metrics do not count refusals:\n%s", text)
	for _, secret := range []string{"correct-horse", "battery-staple", "Y29ycmVjdC1ob3JzZQ"} {
		if strings.Contains(f.Running.Log(), secret) {
			f.Errorf("a value of a Secret is in the log")
		}
	}
	if writes := kit.ObjectWrites(f.Proxy); len(writes) > 0 {
		f.Errorf("the operator wrote although everything was refused: %v", writes)
	}
}

const hardened = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "example.com/web:1", securityContext: {allowPrivilegeEscalation: false}}]}
`

// In an object with drift, a request adds undeclared fields. It is refused if the API server would refuse to restore
// the declared fields beside them.
func TestI13_AnAdditionThatForbidsTheDeclaredValueIsRefused(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, h cluster.Helm) {
		f := newFixture(t)
		f.guarded(h, "shop", hardened, func(hr *v1alpha1.HelmRelease) {
			hr.Spec.GuardExempt = []v1alpha1.GuardSubject{{Kind: v1alpha1.GuardSubjectUser, Name: "alice"}}
		})
		f.inForce(kit.Deployments, "web")
		reverts := f.Proxy.HoldRequests(cluster.ForPath("/deployments/web", http.MethodPatch).And(cluster.IsReal))
		patch := func(context string) []string {
			return []string{"patch", "deployment", "web", "-p",
				`{"spec":{"template":{"spec":{"containers":[{"name":"web","securityContext":` + context + `}]}}}}`}
		}
		f.passes(append(patch(`{"allowPrivilegeEscalation":true}`), "--as", "alice", "--as-group", "system:masters")...)
		f.WaitHeld(reverts, 1)
		f.refused(kit.Deployments, "web", "spec.template.spec.containers[0].securityContext.privileged was refused",
			patch(`{"privileged":true,"runAsUser":1000}`)...)
		f.passes(patch(`{"runAsUser":1000}`)...)
		f.passes("label", "deployment", "web", "team=shop")
		reverts.Release()
		f.WaitReady("shop", 0)
		f.WaitField(kit.Deployments, "web",
			"spec.template.spec.containers.0.securityContext.allowPrivilegeEscalation", false)
		f.passes(patch(`{"runAsGroup":1000}`)...) // no drift, so nothing is asked
	})
}
