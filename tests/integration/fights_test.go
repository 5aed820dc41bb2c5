package integration

import (
	"context"
	"fmt"
	"strings"
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

// A fight ends after a quiet period, and makes one event however long it lasts.
func TestI6_FightClearsByItself(t *testing.T) {
	t.Parallel()
	clock := kit.NewTime(t)
	w := newFixture(t, func(o *operator.ControllerOptions) { o.Clock = clock })
	w.Forged("app", kit.ConfigMap("contested", "declared"))
	stop := w.fight()
	w.WaitReason("app", v1alpha1.ConditionContended, v1alpha1.ReasonFightDetected)
	begun := clock.Now()
	clock.Pace(20) // not before: reverts that are that slow are no fight
	w.Until("five minutes of fight have passed", func() (any, bool) {
		passed := clock.Since(begun)
		return passed, passed >= 5*time.Minute
	})
	stop()
	w.WaitField(kit.ConfigMaps, "contested", "data.key", "declared")
	c := w.WaitReason("app", v1alpha1.ConditionContended, v1alpha1.ReasonNoContention)
	t.Logf("over after %s of the operator's time: %s", clock.Since(begun).Round(time.Second), c.Message)
	w.WaitReady("app", 1)
	n := w.HelmRelease("app").Status.Objects.Contended
	check.That(t, n == 0, "%d objects are contended", n)
	events, err := w.Kube.CoreV1().Events(w.Operator).List(w.Ctx,
		metav1.ListOptions{FieldSelector: "reason=" + v1alpha1.EventReasonContended})
	check.NoError(t, err)
	total := int32(0)
	for _, e := range events.Items {
		total += max(e.Count, 1)
		check.Equal(t, e.Type, corev1.EventTypeWarning, "event of type")
	}
	check.That(t, total == 1, "%d events for one episode", total)
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

// A user who repeatedly sets the same value keeps it for about a second each time.
func TestHostile_InsistingKeepsNoValue(t *testing.T) {
	t.Parallel()
	clock := kit.NewTime(t)
	w := newFixture(t, func(o *operator.ControllerOptions) { o.Clock = clock })
	w.Forged("app", kit.ConfigMap("contested", "declared"))
	for range 24 {
		w.Patch(kit.ConfigMaps, "contested", `{"data":{"key":"mine"}}`)
		changed := clock.Now()
		w.WaitField(kit.ConfigMaps, "contested", "data.key", "declared")
		lived := clock.Since(changed)
		check.Must(t, lived <= 4*time.Second, "the value lived %s", lived)
	}
	w.WaitReason("app", v1alpha1.ConditionContended, v1alpha1.ReasonFightDetected)
}

// A controller answers each revert with another value: it appends a Secret with a new name to a declared list. That
// counts as a fight within ten rounds, and costs one revert a second.
func TestI6_AWriterThatAnswersWithAnotherValue(t *testing.T) {
	t.Parallel()
	clock := kit.NewTime(t)
	w := newFixture(t, func(o *operator.ControllerOptions) { o.Clock = clock })
	w.Forged("app", `
apiVersion: v1
kind: ServiceAccount
metadata: {name: builder}
imagePullSecrets: [{name: registry}]
---
`)
	begun, asked := clock.Now(), len(w.Proxy.Requests())
	stop := w.appendPullSecrets("builder")
	w.Says("app", v1alpha1.ConditionContended, v1alpha1.ReasonFightDetected, "ServiceAccount "+w.Apps+"/builder",
		"platform-controller", "/imagePullSecrets", "spec.ignore", "chart", "stop that writer")
	log := w.Running.Log()
	before, _, noticed := strings.Cut(log, "something keeps changing the object back")
	n := strings.Count(before, "msg=reverted")
	check.That(t, noticed && n != 0 && n <= 10, "noticed %t after %d reverts", noticed, n)
	clock.Pace(10)
	w.Until("a minute of fight has passed", func() (any, bool) {
		passed := clock.Since(begun)
		return passed, passed >= time.Minute
	})
	clock.Pace(1)
	made := stop()
	passed := clock.Since(begun)
	reverts := strings.Count(w.Running.Log(), "msg=reverted")
	t.Logf("%d reverts, %d Secrets, and %d requests of the operator in %s", reverts, made,
		len(w.Proxy.Requests())-asked, passed)
	most := 22 + int(passed.Seconds())
	check.That(t, reverts <= most && made <= most+1, "%d reverts and %d Secrets in %s", reverts, made, passed)
	w.WaitField(serviceAccounts, "builder", "imagePullSecrets", []any{map[string]any{"name": "registry"}})
}

// appendPullSecrets runs a controller that appends a Secret with a new name to those of a ServiceAccount whenever
// that has none of the controller's. stop returns the number of Secrets.
func (w *fixture) appendPullSecrets(account string) (stop func() (made int)) {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Ctx)
	events, err := w.Kube.CoreV1().ServiceAccounts(w.Apps).Watch(ctx,
		metav1.ListOptions{FieldSelector: "metadata.name=" + account})
	check.NoError(w.TB, err)
	made := 0
	var controller sync.WaitGroup
	controller.Go(func() {
		for event := range events.ResultChan() {
			sa, ok := event.Object.(*corev1.ServiceAccount)
			if !ok || len(sa.ImagePullSecrets) > 1 {
				continue
			}
			secret, err := w.Kube.CoreV1().Secrets(w.Apps).Create(ctx,
				&corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: "builder-cfg-"}}, metav1.CreateOptions{})
			if err == nil {
				made++
				_, err = w.Kube.CoreV1().ServiceAccounts(w.Apps).Patch(ctx, account, types.MergePatchType,
					fmt.Appendf(nil, `{"imagePullSecrets":[{"name":"registry"},{"name":%q}]}`, secret.Name),
					metav1.PatchOptions{FieldManager: "platform-controller"})
			}
			if err != nil && ctx.Err() == nil {
				w.Errorf("the controller gave up: %v", err)
				return
			}
		}
	})
	stop = func() int { cancel(); events.Stop(); controller.Wait(); return made }
	w.Cleanup(func() { stop() })
	return stop
}

// A writer that deletes the object after each of its changes is noticed as soon as one that only changes it.
func TestI6_AWriterThatDeletesAndChangesInTurns(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Forged("app", kit.ConfigMap("contested", "declared"))
	for range 5 {
		w.Reverts("contested", "declared")
		w.Delete(kit.ConfigMaps, "contested")
		w.WaitField(kit.ConfigMaps, "contested", "data.key", "declared")
	}
	w.Says("app", v1alpha1.ConditionContended, v1alpha1.ReasonFightDetected, w.Apps+"/contested", kit.Tamperer,
		"/data/key")
}
