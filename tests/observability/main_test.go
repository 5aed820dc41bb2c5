package observability

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

func TestMain(m *testing.M) { kit.Main(m, cluster.Options{ControllerManager: true}) }

// fixture is kit.Fixture with additions for this suite. Its operator serves metrics.
type fixture struct {
	*kit.Fixture
	notifier *kit.Operator // nil when none is started
}

// serving has an operator serve metrics.
func serving(o *operator.ControllerOptions) { o.MetricsAddress = "127.0.0.1:0" }

func newFixture(t *testing.T, options ...func(*operator.ControllerOptions)) *fixture {
	t.Helper()
	return &fixture{Fixture: kit.Start(t, append(options, serving)...)}
}

// notify starts a notifier for URLs.
func (w *fixture) notify(urls ...string) {
	w.Helper()
	w.notifier = kit.StartNotifier(w.TB, w.Reader("notifier"), w.Operator, urls...)
}

// metrics returns the metrics of the operator and of the notifier.
func (w *fixture) metrics() string {
	w.Helper()
	text := kit.Metrics(w.TB, w.Running)
	if w.notifier != nil {
		text += kit.NotifierMetrics(w.TB, w.notifier)
	}
	return text
}

// start starts an operator.
func (w *fixture) start(options ...func(*operator.ControllerOptions)) *kit.Operator {
	w.Helper()
	return kit.StartOperator(w.TB, w.Proxy.RESTConfig(), w.Operator, append(options, serving)...)
}

// tamper changes the key of a ConfigMap.
func (w *fixture) tamper(name, value string) {
	w.Helper()
	w.Patch(kit.ConfigMaps, name, fmt.Sprintf(`{"data":{"key":%q}}`, value))
}

// restored waits until the key of a ConfigMap is as declared.
func (w *fixture) restored(name string) {
	w.Helper()
	w.WaitField(kit.ConfigMaps, name, "data.key", "declared")
}

// refuse refuses every write of an operator to a ConfigMap.
func (w *fixture) refuse(name, message string) (remove func()) {
	return w.Proxy.On(cluster.ForPath("/configmaps/"+name).And(cluster.IsWrite),
		cluster.Fail(http.StatusForbidden, message))
}

// fight changes a ConfigMap to the same content until the operator calls it a fight.
func (w *fixture) fight(name string) {
	w.Helper()
	for round := 0; !strings.Contains(w.Running.Log(), "something keeps changing the object back"); round++ {
		if round == 30 {
			w.Fatal("the same change was reverted 30 times, and that is no fight")
		}
		w.tamper(name, "mine")
		w.restored(name)
	}
}

// waitSample waits until a line of the metrics matches a pattern.
func (w *fixture) waitSample(pattern string) {
	w.Helper()
	line := regexp.MustCompile("(?m)^" + pattern + "$")
	w.Until("the metrics have "+pattern, func() (any, bool) {
		return "they have not", line.MatchString(w.metrics())
	})
}
