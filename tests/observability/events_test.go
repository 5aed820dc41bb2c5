package observability

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// countEvents returns how often events of a reason were recorded, on HelmReleases and on objects.
func (w *fixture) countEvents(reason string) int {
	w.Helper()
	total := 0
	for _, namespace := range []string{w.Operator, w.Apps} {
		options := metav1.ListOptions{FieldSelector: "reason=" + reason}
		list, err := w.Kube.CoreV1().Events(namespace).List(w.Ctx, options)
		check.NoError(w, err)
		for _, e := range list.Items {
			total += int(max(e.Count, 1))
		}
	}
	return total
}

// settled waits until all events recorded before the call are stored: the operator writes them in order, and this
// causes one more.
func (w *fixture) settled() {
	w.Helper()
	before := w.countEvents(v1alpha1.EventReasonSuspended)
	w.PatchHelmRelease("app", `{"spec":{"suspend":true}}`)
	w.Until("the operator records one more event", func() (any, bool) {
		return "it has not", w.countEvents(v1alpha1.EventReasonSuspended) != before
	})
}

// A storm of changes causes a few events that show its nature. The status and the metrics have the numbers.
func TestEventsAreBoundedInAStorm(t *testing.T) {
	w := newFixture(t)
	const objects, rounds = 60, 3
	names := make([]string, objects)
	for n := range names {
		names[n] = fmt.Sprintf("settings-%d", n)
	}
	begun := time.Now()
	w.Forged("app", kit.Declared(names...))
	for round := range rounds {
		for _, name := range names {
			w.tamper(name, fmt.Sprintf("round %d", round))
		}
		for _, name := range names {
			w.restored(name)
		}
	}
	w.waitSample(fmt.Sprintf(`helm_locker_drift_total\{action="Reverted",.*\} %d`, objects*rounds))
	w.settled()
	passed := time.Since(begun)
	writes := 0
	for _, r := range w.Proxy.Writes() {
		if r.Resource() == "events" {
			writes++
		}
	}
	const burst, perSecond, others = 50, 2, 5 // others are about the release, and few
	limit := burst + perSecond*int(passed.Seconds()+1) + others
	if writes > limit || writes == 0 {
		t.Errorf("%d events written for %d changes in %s; the limit is %d", writes, objects*(rounds+1),
			passed.Round(time.Second), limit)
	}
	// The lock began with the creation of all objects.
	t.Logf("%d events written for %d changes in %s", writes, objects*(rounds+1), passed.Round(time.Millisecond))
}

// However often it is tried again, a refusal is one event, and so is a fight.
func TestOneEventForARefusalAndAFight(t *testing.T) {
	w := newFixture(t)
	w.Forged("app", kit.Declared("first", "second", "contested"))
	for _, name := range []string{"first", "second"} {
		w.refuse(name, "no")
		w.tamper(name, "x")
	}
	w.fight("contested")
	w.Until("both were refused several times", func() (any, bool) {
		n := strings.Count(w.Running.Log(), "revert refused for the 3. time")
		return n, n >= 2
	})
	w.settled()
	n := w.countEvents(v1alpha1.EventReasonRevertFailed)
	check.That(t, n == 2, "%d events for two refusals", n)
	n = w.countEvents(v1alpha1.EventReasonContended)
	check.That(t, n == 1, "%d events for one fight", n)
}

// A prune candidate that cannot be deleted causes one event, too.
func TestOneEventForALeftoverThatStays(t *testing.T) {
	clock := kit.FastTime(t) // a hundred times as much time passes for the operator
	w := newFixture(t, func(o *operator.ControllerOptions) { o.Clock = clock })
	w.Proxy.On(cluster.ForPath("/configmaps/dropped", http.MethodDelete), cluster.Fail(http.StatusForbidden, "no"))
	first := kit.ForgedRecord{Name: "app", Manifest: kit.Declared("settings", "dropped")}
	w.Forge(first)
	w.Lock("app")
	w.restored("dropped")
	first.Status = "superseded"
	w.Forge(first)
	w.NextSecond(w.Get(kit.ConfigMaps, "dropped"))
	w.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Manifest: kit.Declared("settings")})
	w.WaitReady("app", 2)
	w.Until("the deletion was refused several times", func() (any, bool) {
		n := strings.Count(w.Running.Log(), "leftovers of earlier revisions")
		return n, n >= 3
	})
	w.waitSample(`helm_locker_revert_failures_total\{kind="ConfigMap".*\} [3-9]`)
	w.settled()
	n := w.countEvents(v1alpha1.EventReasonRevertFailed)
	check.That(t, n == 1, "%d events for one refusal", n)
}
