package observability

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// shared is the control plane of this package; nil with -short.
var shared *cluster.Cluster

func TestMain(m *testing.M) {
	os.Exit(cluster.Main(m, cluster.Options{ControllerManager: true}, func(c *cluster.Cluster) { shared = c }))
}

// world is an environment with an operator that reaches the API server through a proxy and serves metrics.
type world struct {
	*kit.Env
	proxy    *cluster.Proxy
	operator *kit.Operator
}

func newWorld(t *testing.T, options ...func(*operator.ControllerOptions)) *world {
	t.Helper()
	w := &world{Env: kit.New(t, shared)}
	w.proxy = w.Proxy()
	w.operator = w.start(options...)
	return w
}

// start starts an operator.
func (w *world) start(options ...func(*operator.ControllerOptions)) *kit.Operator {
	w.Helper()
	serving := func(o *operator.ControllerOptions) { o.MetricsAddress = "127.0.0.1:0" }
	return kit.StartOperator(w.TB, w.proxy.RESTConfig(), w.Operator, append(options, serving)...)
}

// configMaps returns a manifest of ConfigMaps with one key.
func configMaps(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {key: declared}\n", name)
	}
	return b.String()
}

// tamper changes the key of a ConfigMap.
func (w *world) tamper(name, value string) {
	w.Helper()
	w.Patch(kit.ConfigMaps, name, fmt.Sprintf(`{"data":{"key":%q}}`, value))
}

// restored waits until the key of a ConfigMap is as declared.
func (w *world) restored(name string) {
	w.Helper()
	w.WaitField(kit.ConfigMaps, name, "data.key", "declared")
}

// refuse has every write to a ConfigMap refused that comes from an operator.
func (w *world) refuse(name, message string) (remove func()) {
	return w.proxy.Intercept(func(r *http.Request) cluster.Action {
		if cluster.IsWrite(r) && strings.HasSuffix(r.URL.Path, "/configmaps/"+name) {
			return cluster.Fail(http.StatusForbidden, "Forbidden", message)
		}
		return cluster.Forward()
	})
}

// fight changes a ConfigMap to the same content until the operator calls it a fight.
func (w *world) fight(name string) {
	w.Helper()
	for round := 0; !strings.Contains(w.operator.Log(), "something keeps changing the object back"); round++ {
		if round == 30 {
			w.Fatal("the same change was reverted 30 times, and that is no fight")
		}
		w.tamper(name, "mine")
		w.restored(name)
	}
}

// waitSample waits until the metrics have a line that matches a pattern.
func (w *world) waitSample(pattern string) {
	w.Helper()
	line := regexp.MustCompile("(?m)^" + pattern + "$")
	w.Eventually("the metrics have "+pattern, func() error {
		if !line.MatchString(kit.Metrics(w.TB, w.operator)) {
			return fmt.Errorf("they have not")
		}
		return nil
	})
}
