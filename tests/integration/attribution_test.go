package integration

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

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
				_, err := w.In(gvr, w.Apps).Patch(w.Ctx, name, types.MergePatchType, []byte(body),
					metav1.PatchOptions{FieldManager: manager}, subresources...)
				return err
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
