package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// recentDrift and the events name the author, the operation, the subresource and the time of a change, as recorded by
// the API server. It records no author of a deletion or of a removed label, and no time for subresource scale.
func TestAttribution(t *testing.T) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		w.Installed(helm, "app", scaled+"---"+ignorableConfig)
		patch := func(gvr schema.GroupVersionResource, name, body, manager string,
			subresources ...string) func() error {
			return func() error {
				w.PatchAs(manager, gvr, name, body, subresources...)
				return nil
			}
		}
		for _, change := range []struct {
			name   string
			do     func() error
			want   v1alpha1.DriftRecord
			timed  bool
			object string
		}{
			{"an update", patch(kit.ConfigMaps, "settings", `{"data":{"key":"tampered"}}`, "kubectl-edit"),
				v1alpha1.DriftRecord{Operation: v1alpha1.DriftModified, Paths: []string{"/data/key"},
					FieldManager: "kubectl-edit", FieldManagerOperation: "Update"}, true, "settings"},
			{"a server-side apply", func() error {
				force := true
				u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
					"metadata": map[string]any{"name": "settings", "namespace": w.Apps},
					"data":     map[string]any{"key": "applied"}}}
				_, err := w.In(kit.ConfigMaps, w.Apps).Apply(w.Ctx, "settings", u,
					metav1.ApplyOptions{FieldManager: "argocd-controller", Force: force})
				return err
			}, v1alpha1.DriftRecord{Operation: v1alpha1.DriftModified, Paths: []string{"/data/key"},
				FieldManager: "argocd-controller", FieldManagerOperation: "Apply"}, true, "settings"},
			{"the scale subresource", patch(kit.Deployments, "web", `{"spec":{"replicas":7}}`, "kubectl-scale", "scale"),
				v1alpha1.DriftRecord{Operation: v1alpha1.DriftModified, Paths: []string{"/spec/replicas"},
					FieldManager: "kubectl-scale", FieldManagerOperation: "Update", Subresource: "scale"}, false,
				"web"},
			{"a removed label", patch(kit.ConfigMaps, "settings", `{"metadata":{"labels":{"tier":null}}}`, "kubectl-label"),
				v1alpha1.DriftRecord{Operation: v1alpha1.DriftRemoved, Paths: []string{"/metadata/labels/tier"}},
				false, "settings"},
			{"a deletion", func() error {
				return w.In(kit.ConfigMaps, w.Apps).Delete(w.Ctx, "settings", metav1.DeleteOptions{})
			},
				v1alpha1.DriftRecord{Operation: v1alpha1.DriftDeleted}, false, "settings"},
		} {
			before := w.HelmRelease("app").Status.RecentDrift
			err := change.do()
			check.Must(t, err == nil, "%s: %v", change.name, err)
			var got v1alpha1.DriftRecord
			w.Eventually(change.name+" is recorded", func() error {
				recent := w.HelmRelease("app").Status.RecentDrift
				if len(recent) <= len(before) {
					return fmt.Errorf("%d records, as before", len(recent))
				}
				got = recent[0]
				return nil
			})
			check.Equal(t, got.ChangeTime != nil, change.timed, "%s: change time %v", change.name, got.ChangeTime)
			short := func(r v1alpha1.DriftRecord) string {
				return fmt.Sprintf("%s %v by %q %q %q", r.Operation, r.Paths, r.FieldManager,
					r.FieldManagerOperation, r.Subresource)
			}
			if got.Object.Name != change.object || short(got) != short(change.want) {
				t.Errorf("%s: recorded as %s of %s, want %s", change.name, short(got), got.Object.Name, short(change.want))
			}
		}
		w.Until("an event has it all", func() (any, bool) {
			all := w.events(w.Operator)
			return all, strings.Contains(all, "spec.replicas changed by kubectl-scale (Update of scale)")
		})
	})
}

const ignorableConfig = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {tier: web}}
data: {key: declared}
`

// records waits for so many drift records.
func (w *fixture) records(n int) []v1alpha1.DriftRecord {
	w.Helper()
	var recent []v1alpha1.DriftRecord
	w.Until(fmt.Sprintf("%d changes are recorded", n), func() (any, bool) {
		recent = w.HelmRelease("app").Status.RecentDrift
		return recent, len(recent) == n
	})
	return recent
}

// Changes by two managers while no operator ran are one revert with a record for each. They lived since the change. A
// deletion meanwhile lived since the beginning of the lock, and a later change since its observation.
func TestEachManagerIsToldApartAndHowLongTheirChangesLived(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Installed(kit.Shared.Helm4(), "app", ignorableConfig+"---"+kit.ConfigMap("gone", "declared"))
	w.Running.Stop()
	began := w.Condition("app", v1alpha1.ConditionLocked).LastTransitionTime
	w.Until("the second in which the lock began is over", func() (any, bool) {
		return time.Now(), time.Since(began.Time) > 2*time.Second
	})
	w.PatchAs("kubectl-edit", kit.ConfigMaps, "settings", `{"data":{"key":"tampered"}}`)
	w.PatchAs("curl", kit.ConfigMaps, "settings", `{"metadata":{"labels":{"tier":"tampered"}}}`)
	w.Delete(kit.ConfigMaps, "gone")
	running := kit.StartOperator(t, w.Proxy.RESTConfig(), w.Operator)
	w.Reverts("settings", "declared")

	known := map[string]v1alpha1.DriftRecord{}
	for _, r := range w.records(3) {
		known[r.FieldManager] = r
	}
	for manager, path := range map[string]string{"kubectl-edit": "/data/key", "curl": "/metadata/labels/tier"} {
		r := known[manager]
		check.That(t,
			len(r.Paths) == 1 && r.Paths[0] == path && r.ChangeTime != nil && r.Since == v1alpha1.DriftSinceChanged &&
				r.Duration.Duration%time.Second == 0 && r.Duration.Duration >= time.Second, "%s: recorded as %+v",
			manager, r)
	}
	deleted, life := known[""], time.Since(began.Time)
	check.That(t,
		deleted.Object.Name == "gone" && deleted.Since == v1alpha1.DriftSinceLocked &&
			deleted.Duration.Duration >= 2*time.Second && deleted.Duration.Duration <= life+time.Second,
		"the deletion is recorded as %+v", deleted)
	w.Until("one event tells who changed what", func() (any, bool) {
		all := w.events(w.Operator)
		one := strings.Index(all, "data[key] changed by kubectl-edit (Update at ")
		other := strings.Index(all, "metadata.labels[tier] changed by curl (Update at ")
		return all, one >= 0 && other > one && strings.Contains(all[other:], "s after the change")
	})
	for _, line := range []string{"manager=kubectl-edit", "manager=curl"} {
		check.That(t, strings.Contains(running.Log(), line), "no %s in the log", line)
	}

	w.PatchAs("kubectl-edit", kit.ConfigMaps, "settings", `{"data":{"key":"again"}}`)
	r := w.records(4)[0]
	check.That(t, r.Since == v1alpha1.DriftSinceObserved && r.Duration.Duration <= 30*time.Second,
		"what was changed while the operator ran is recorded as %+v", r)
}
