package integration

import (
	"context"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
	"github.com/rancher/helm-locker/tests/lib/process"
)

// A fight is over when nobody has fought for a while, and makes one event however long it lasts.
func TestI6_FightClearsByItself(t *testing.T) {
	t.Parallel()
	clock := kit.NewTime(t)
	w := newFixture(t, func(o *operator.ControllerOptions) { o.Clock = clock })
	w.Forge(kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("contested", "declared")})
	w.Lock("app")
	stop := w.fight()
	w.WaitReason("app", v1alpha1.ConditionContended, v1alpha1.ReasonFightDetected)
	begun := clock.Now()
	clock.Pace(100) // not before: reverts that are that slow are no fight
	w.Until("five minutes of fight have passed", func() (any, bool) {
		passed := clock.Since(begun)
		return passed, passed >= 5*time.Minute
	})
	stop()
	w.WaitField(kit.ConfigMaps, "contested", "data.key", "declared")
	c := w.WaitReason("app", v1alpha1.ConditionContended, v1alpha1.ReasonNoContention)
	t.Logf("over after %s of the operator's time: %s", clock.Since(begun).Round(time.Second), c.Message)
	w.WaitReady("app", 1)
	if n := w.HelmRelease("app").Status.Objects.Contended; n != 0 {
		t.Errorf("%d objects are contended", n)
	}
	events, err := w.Kube.CoreV1().Events(w.Operator).List(w.Ctx,
		metav1.ListOptions{FieldSelector: "reason=" + v1alpha1.EventReasonContended})
	check.NoError(t, err)
	total := int32(0)
	for _, e := range events.Items {
		total += max(e.Count, 1)
		if e.Type != corev1.EventTypeWarning {
			t.Errorf("event of type %s", e.Type)
		}
	}
	if total != 1 {
		t.Errorf("%d events for one episode", total)
	}
	// Afterwards a change is reverted at once again.
	w.Reverts("contested", "declared")
}

// fight has another controller change ConfigMap contested again after each revert, until stop is called or the test
// ends.
func (w *fixture) fight() (stop func()) {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Ctx)
	client := w.In(kit.ConfigMaps, w.Apps)
	var fight sync.WaitGroup
	fight.Go(func() {
		err := process.Poll(ctx, 5*time.Millisecond, func() (bool, error) {
			u, err := client.Get(ctx, "contested", metav1.GetOptions{})
			if err == nil && kit.Field(u, "data.key") == "declared" {
				_, err = client.Patch(ctx, "contested", types.MergePatchType, []byte(`{"data":{"key":"mine"}}`),
					metav1.PatchOptions{FieldManager: "fighter"})
			}
			if apierrors.IsConflict(err) {
				return false, nil
			}
			return false, err
		})
		if ctx.Err() == nil {
			w.Errorf("the fighter gave up: %v", err)
		}
	})
	stop = func() { cancel(); fight.Wait() }
	w.Cleanup(stop)
	return stop
}
