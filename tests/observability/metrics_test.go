package observability

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

const (
	chart      = "../../charts/helm-locker"
	operations = "../../docs/operations.md"
)

// Every measured event happens once; then the metrics are compared with the documentation, linted, and every query of
// the dashboard and every alert of the chart is evaluated on them.
func TestMetricsOfARealOperator(t *testing.T) {
	receiver := newFlakyReceiver(t)
	w := newFixture(t, kit.Events)
	w.Running.Policies = kit.StartPolicies(t, w.Proxy.RESTConfig(), w.Operator, serving)
	w.notify(receiver)
	scrapes := &scrapes{fixture: w, dir: t.TempDir()}
	w.everythingHappens(scrapes)

	text := scrapes.take()
	families := parse(t, text)
	t.Run("documented", func(t *testing.T) { documented(t, families) })
	t.Run("linted", func(t *testing.T) { linted(t, text) })
	t.Run("queries", func(t *testing.T) { w.queries(t, scrapes.dir) })
}

// newFlakyReceiver starts a receiver of notifications that sometimes fails, and refuses one message.
func newFlakyReceiver(t *testing.T) string {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch asked.Add(1) {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 3:
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// scrapes are texts of /metrics, in files.
type scrapes struct {
	*fixture
	dir string
	n   int
}

func (s *scrapes) take() string {
	s.Helper()
	text := s.metrics() + policyFamilies(s.TB, kit.Metrics(s.TB, s.Running.Policies))
	s.n++
	if err := os.WriteFile(filepath.Join(s.dir, fmt.Sprintf("%03d.prom", s.n)), []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
	return text
}

// policyFamilies returns the metrics of the process of policies alone from a text of its metrics.
func policyFamilies(t testing.TB, text string) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.Contains(line, "helm_locker_policy_") {
			b.WriteString(line)
		}
	}
	return b.String()
}

func (w *fixture) everythingHappens(s *scrapes) {
	w.Helper()
	release := kit.ForgedRecord{Name: "app", Manifest: kit.Declared("edited", "deleted", "refused", "contested")}
	w.Forge(release)
	w.Lock("app", func(hr *v1alpha1.HelmRelease) { hr.Spec.Guard = v1alpha1.GuardWarn }) // this operator serves none
	s.take()
	w.tamper("edited", "x")
	w.restored("edited")
	w.Delete(kit.ConfigMaps, "deleted")
	w.restored("deleted")
	s.take()

	// Helm begins to work, and the watch does not deliver that: the check before the write finds it.
	resume := w.Proxy.HoldWatch(cluster.WatchOf("secrets"))
	pending := release
	pending.Status = "pending-upgrade"
	w.Forge(pending)
	w.tamper("edited", "by Helm")
	w.waitSample(`helm_locker_yields_total\{.*\} [1-9].*`)
	resume()
	w.Forge(release)
	w.restored("edited")
	s.take()

	if w.Proxy.CutWatches(cluster.ForResource("configmaps")) == 0 {
		w.Fatal("no watch of ConfigMaps to cut")
	}
	w.waitSample(`helm_locker_watch_restarts_total\{resource="configmaps"\} [1-9].*`)
	w.tamper("edited", "y")
	w.restored("edited")
	w.refuse("refused", "no")
	w.tamper("refused", "x")
	w.waitSample(`helm_locker_revert_failures_total\{.*\} [1-9].*`)
	s.take()
	w.fight("contested")
	w.waitSample(`helm_locker_objects\{condition="contended".*\} 1`)
	w.waitSample(`helm_locker_notifications_total\{result="rejected"\} 1`)
	_, err := w.In(kit.HelmReleasePolicies, w.Operator).Create(w.Ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.SchemeGroupVersion.String(), "kind": v1alpha1.PolicyKind,
		"metadata": map[string]any{"name": "all"},
		"spec":     map[string]any{"acceptRecordsOfAnyone": true, "match": map[string]any{"namespaces": []any{w.Apps}}},
	}}, metav1.CreateOptions{})
	check.NoError(w, err)
	w.Until("the policy is ready by the metrics", func() (any, bool) {
		text := policyFamilies(w.TB, kit.Metrics(w.TB, w.Running.Policies))
		return text, strings.Contains(text, `helm_locker_policy_ready{policy="all"} 1`)
	})
	w.CreateHelmRelease("aside", func(hr *v1alpha1.HelmRelease) { hr.Spec.Suspend = true })
	w.waitSample(`helm_locker_suspended_since_timestamp_seconds\{release="aside",.*\} [1-9].*`)
	s.take()
}

func parse(t *testing.T, text string) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	check.NoError(t, err)
	return families
}

// documented compares names, types and labels with the table of the documentation.
func documented(t *testing.T, families map[string]*dto.MetricFamily) {
	content, err := os.ReadFile(operations)
	check.NoError(t, err)
	described := map[string]string{}
	for line := range strings.Lines(string(content)) {
		cells := strings.Split(line, "|")
		if len(cells) < 5 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "`helm_locker_") {
			continue
		}
		name := strings.Trim(cells[1], " `")
		described[name] = strings.TrimSpace(strings.TrimSpace(cells[2]) + " " + strings.Trim(cells[3], " `"))
	}
	served := map[string]string{}
	for name, family := range families {
		if !strings.HasPrefix(name, "helm_locker_") {
			if !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") && !strings.HasPrefix(name, "promhttp_") {
				t.Errorf("%s is of no family that is documented", name)
			}
			continue
		}
		var labels []string
		for _, l := range family.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		slices.Sort(labels)
		served[name] = strings.TrimSpace(strings.ToLower(family.GetType().String()) + " " + strings.Join(labels, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(served)) {
		check.That(t, described[name] == served[name], "%s is served as %q, and documented as %q", name, served[name],
			described[name])
	}
	for name := range described {
		check.That(t, served[name] != "", "%s is documented, and not served", name)
	}
}

func linted(t *testing.T, text string) {
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	check.NoError(t, err)
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "helm_locker_") { // what libraries measure has the names that they give
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}
