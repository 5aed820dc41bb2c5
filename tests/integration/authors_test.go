package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// patchAs changes a ConfigMap in the name of a field manager.
func (w *fixture) patchAs(manager, name, body string) {
	w.Helper()
	_, err := w.In(kit.ConfigMaps, w.Apps).Patch(w.Ctx, name, types.MergePatchType, []byte(body),
		metav1.PatchOptions{FieldManager: manager})
	check.NoError(w, err)
}

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
	w.Helm(kit.Shared.Helm4(), "install", "app", w.Chart("app", ignorableConfig+"---"+kit.ConfigMap("gone", "declared")))
	w.Lock("app")
	w.Running.Stop()
	began := w.Condition("app", v1alpha1.ConditionLocked).LastTransitionTime
	w.Until("the second in which the lock began is over", func() (any, bool) {
		return time.Now(), time.Since(began.Time) > 2*time.Second
	})
	w.patchAs("kubectl-edit", "settings", `{"data":{"key":"tampered"}}`)
	w.patchAs("curl", "settings", `{"metadata":{"labels":{"tier":"tampered"}}}`)
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

	w.patchAs("kubectl-edit", "settings", `{"data":{"key":"again"}}`)
	r := w.records(4)[0]
	check.That(t, r.Since == v1alpha1.DriftSinceObserved && r.Duration.Duration <= 30*time.Second,
		"what was changed while the operator ran is recorded as %+v", r)
}

func TestDriftThatIsOlderThanTheLockLivesFromTheLockOn(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Helm(kit.Shared.Helm3(), "install", "app", w.Chart("app", ignorableConfig))
	w.patchAs("kubectl-edit", "settings", `{"data":{"key":"tampered"}}`)
	w.Lock("app")
	r := w.records(1)[0]
	check.That(t, r.Since == v1alpha1.DriftSinceLocked && r.FieldManager == "kubectl-edit", "recorded as %+v", r)
}
