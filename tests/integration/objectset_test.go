package integration

import (
	"maps"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// classicOf returns the ObjectSet metadata of an object.
func classicOf(labels, annotations map[string]string) map[string]string {
	found := map[string]string{}
	for _, all := range []map[string]string{labels, annotations} {
		for name, value := range all {
			if strings.HasPrefix(name, "objectset.rio.cattle.io/") {
				found[name] = value
			}
		}
	}
	return found
}

// The metadata of --objectset-metadata is what the older operator wrote. Writing it, keeping it and no longer writing
// it is no drift, in either scope.
func TestObjectSetMetadata_IsTheClassicOneAndNoDrift(t *testing.T) {
	t.Parallel()
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: app}\nstringData: {password: hunter2}\n"
	for version, h := range kit.Helms(kit.Shared) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			with := func(on bool) func(*operator.ControllerOptions) {
				return func(o *operator.ControllerOptions) {
					o.ObjectSetMetadata, o.MetricsAddress = on, "127.0.0.1:0"
				}
			}
			f := kit.Start(t, with(true))
			check.NoError(t, f.Cluster.Except("I3", f.Apps, "the operator writes ObjectSet metadata"))
			has := func(want int) (keys map[string]string) {
				t.Helper()
				f.Until("the objects have the metadata", func() (any, bool) {
					u := f.Get(kit.Secrets, "app")
					other := len(classicOf(u.GetLabels(), u.GetAnnotations()))
					u = f.Get(kit.ConfigMaps, "app")
					keys = classicOf(u.GetLabels(), u.GetAnnotations())
					return keys, len(keys) == want && other == want
				})
				return keys
			}
			noDrift := func(revision int) {
				t.Helper()
				hr := f.WaitReady("app", revision)
				text := kit.Metrics(t, f.Running)
				check.That(t, len(hr.Status.RecentDrift) == 0 && !strings.Contains(text, "helm_locker_drift_total{"),
					"drift is reported: %+v", hr.Status.RecentDrift)
				log := f.Running.Log()
				check.That(t, !strings.Contains(log, "msg=reverted"), "drift is logged")
				events, err := f.Kube.CoreV1().Events(f.Apps).List(f.Ctx, metav1.ListOptions{})
				check.NoError(t, err)
				check.That(t, len(events.Items) == 0, "there are events: %v", events.Items)
			}
			long := kit.ConfigMap("app", strings.Repeat("long ", 20))
			f.Installed(h, "app", long+"---\n"+secret)
			first := has(6)
			noDrift(1)
			f.Helm(h, "upgrade", "app", f.Chart("app", kit.ConfigMap("app", "declared")+"---\n"+secret))
			f.WaitReady("app", 2)
			f.Until("the copy follows the revision", func() (any, bool) {
				now := has(6)
				return now, now["objectset.rio.cattle.io/applied"] != first["objectset.rio.cattle.io/applied"]
			})
			noDrift(2)
			now := has(6)

			f.Running.Stop()
			f.Running = kit.StartOperator(t, f.Proxy.RESTConfig(), f.Operator, with(false))
			f.Patch(kit.Secrets, "app", `{"metadata":{"labels":{"seen":"yes"}}}`)
			f.WaitReady("app", 2)
			f.PatchHelmRelease("app", `{"spec":{"scope":"Strict"}}`)
			f.WaitField(kit.Secrets, "app", "metadata.labels.seen", nil)
			got := has(6)
			check.That(t, maps.Equal(got, now), "the metadata changed from %v to %v", now, got)
			f.Running.Stop()

			// The older operator writes the same on the same content.
			kit.NewOlderOperator(f.Env).Lock("app", strings.Replace(kit.ConfigMap("app", "declared"), "{name: app}",
				"{name: app, namespace: "+f.Apps+", labels: {app.kubernetes.io/managed-by: Helm}, annotations: "+
					"{meta.helm.sh/release-name: app, meta.helm.sh/release-namespace: "+f.Apps+"}}", 1))
			got = has(6)
			check.That(t, maps.Equal(got, now), "the older operator wrote %v, and this one %v", got, now)
		})
	}
}
