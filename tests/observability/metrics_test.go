package observability

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
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
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

const (
	chart     = "../../charts/helm-locker"
	metricsMD = "../../docs/metrics.md"
	alertsMD  = "../../docs/alerts.md"
)

// Everything that an operator measures happens once; then what it serves is compared with the documentation,
// linted, and every query of the dashboard and every alert of the chart is evaluated on it.
func TestMetricsOfARealOperator(t *testing.T) {
	receiver := newFlakyReceiver(t)
	w := newFixture(t, func(o *operator.ControllerOptions) { o.Notify.URLs = []string{receiver} })
	scrapes := &scrapes{fixture: w, dir: t.TempDir()}
	w.everythingHappens(scrapes)

	text := scrapes.take()
	families := parse(t, text)
	t.Run("documented", func(t *testing.T) { documented(t, families) })
	t.Run("linted", func(t *testing.T) { linted(t, text) })
	t.Run("queries", func(t *testing.T) { w.queries(t, scrapes.dir) })
}

// newFlakyReceiver starts a receiver of notifications that fails now and then, and turns one message down.
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
	text := kit.Metrics(s.TB, s.Running)
	s.n++
	if err := os.WriteFile(filepath.Join(s.dir, fmt.Sprintf("%03d.prom", s.n)), []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
	return text
}

func (w *fixture) everythingHappens(s *scrapes) {
	w.Helper()
	release := kit.ForgedRecord{Name: "app", Manifest: configMaps("edited", "deleted", "refused", "contested")}
	w.Forge(release)
	w.Lock("app")
	s.take()
	w.tamper("edited", "x")
	w.restored("edited")
	w.Delete(kit.ConfigMaps, "deleted")
	w.restored("deleted")
	s.take()

	// Helm begins to work, and the watch does not say so: the check before the write finds it.
	resume := w.Proxy.HoldWatch(func(r *http.Request) bool {
		return cluster.IsWatch(r) &&
			cluster.ForResource("secrets")(r)
	})
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
	w.createPolicy("all")
	w.waitSample(`helm_locker_policy_ready\{policy="all"\} 1`)
	w.CreateHelmRelease("aside", func(hr *v1alpha1.HelmRelease) { hr.Spec.Suspend = true })
	w.waitSample(`helm_locker_suspended_since_timestamp_seconds\{release="aside",.*\} [1-9].*`)
	s.take()
}

// createPolicy creates a policy for the releases of the test.
func (w *fixture) createPolicy(name string) {
	w.Helper()
	_, err := w.In(v1alpha1.SchemeGroupVersion.WithResource(v1alpha1.PolicyResourceName), w.Operator).Create(w.Ctx,
		&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": v1alpha1.SchemeGroupVersion.String(), "kind": v1alpha1.PolicyKind,
			"metadata": map[string]any{"name": name},
			"spec":     map[string]any{"match": map[string]any{"namespaces": []any{w.Apps}}},
		}}, metav1.CreateOptions{})
	check.NoError(w, err)
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
	content, err := os.ReadFile(metricsMD)
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
			if !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") &&
				!strings.HasPrefix(name, "promhttp_") {
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
		if described[name] != served[name] {
			t.Errorf("%s is served as %q, and documented as %q", name, served[name], described[name])
		}
	}
	for name := range described {
		if served[name] == "" {
			t.Errorf("%s is documented, and not served", name)
		}
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

// queries evaluates what the chart has with the engine of Prometheus.
func (w *fixture) queries(t *testing.T, dir string) {
	dashboard, rules := rendered(t)
	queries := map[string]string{}
	for title, expr := range expressions(t, dashboard) {
		queries["panel "+title] = expr
	}
	if len(queries) < 30 {
		t.Fatalf("the dashboard has only %d queries", len(queries))
	}
	encoded, err := json.Marshal(queries)
	check.NoError(t, err)
	write := func(name string, content []byte) string {
		path := filepath.Join(t.TempDir(), name)
		check.NoError(t, os.WriteFile(path, content, 0o600))
		return path
	}
	output, err := promql(t, "-scrapes", dir, "-queries", write("queries.json", encoded), "-rules",
		write("rules.yaml", rules),
		"-labels", "namespace=cattle-helm-system,job=helm-locker-metrics,pod=helm-locker-0,instance=10.0.0.1:8080")
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	results := map[string]struct {
		Series  int
		Error   string
		Missing []string
	}{}
	if err := json.Unmarshal(output, &results); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	alerts := 0
	for name, r := range results {
		alert := strings.HasPrefix(name, "alert ")
		switch {
		case r.Error != "":
			t.Errorf("%s: %s", name, r.Error)
		case len(r.Missing) > 0:
			t.Errorf("%s: nothing was ever scraped for %s", name, strings.Join(r.Missing, ", "))
		case r.Series == 0 && !alert:
			t.Errorf("%s returns nothing: %s", name, queries[name])
		}
		if alert {
			alerts++
		}
	}
	if alerts == 0 || len(results) != len(queries)+alerts {
		t.Errorf("%d results, %d of them of alerts, for %d queries", len(results), alerts, len(queries))
	}
	t.Logf("%d queries and %d alerts evaluated", len(queries), alerts)
}

// rendered returns the dashboard and the rule file that the chart installs.
func rendered(t *testing.T) (dashboard, rules []byte) {
	t.Helper()
	output, err := kit.Shared.Helm3().Run(t.Context(), "template", "helm-locker", chart, "--namespace",
		"cattle-helm-system", "--kube-version", "1.36.0",
		"--set", "metrics.dashboard.enabled=true,metrics.prometheusRule.enabled=true")
	check.NoError(t, err)
	for document := range strings.SplitSeq(output, "\n---\n") {
		var o struct {
			Kind string
			Data map[string]string
			Spec any
		}
		check.NoError(t, yaml.Unmarshal([]byte(document), &o))
		switch o.Kind {
		case "ConfigMap":
			dashboard = []byte(o.Data["helm-locker.json"])
		case "PrometheusRule":
			if rules, err = yaml.Marshal(o.Spec); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dashboard, rules
}

// expressions returns the queries of a dashboard by panel, with values in place of Grafana's variables.
func expressions(t *testing.T, dashboard []byte) map[string]string {
	t.Helper()
	var d struct {
		Panels []struct {
			ID          int
			Title, Type string
			Targets     []struct{ RefID, Expr string }
		}
		Templating struct {
			List []struct{ Name, Type, Definition string }
		}
	}
	check.NoError(t, json.Unmarshal(dashboard, &d))
	variables := []string{"$__rate_interval", "1m", "$__range", "1h"}
	for _, v := range d.Templating.List {
		variables = append(variables, "$"+v.Name, ".+")
	}
	// The longer of two names first: $release is the begin of $release_namespace.
	pairs := slices.Collect(slices.Chunk(variables, 2))
	slices.SortFunc(pairs, func(a, b []string) int { return len(b[0]) - len(a[0]) })
	values := strings.NewReplacer(slices.Concat(pairs...)...)

	found := map[string]string{}
	add := func(title, expr string) {
		expr = values.Replace(expr)
		if strings.Contains(expr, "$") || found[title] != "" {
			t.Errorf("%s: a variable that is not defined, or a second panel of that name: %s", title, expr)
		}
		found[title] = expr
	}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			add(fmt.Sprintf("%d %s %s", p.ID, p.Title, target.RefID), target.Expr)
		}
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %s shows nothing", p.Title)
		}
	}
	for _, v := range d.Templating.List {
		if v.Type != "query" {
			continue
		}
		selector, ok := strings.CutSuffix(strings.TrimPrefix(v.Definition, "label_values("), ", "+v.Name+")")
		if !ok {
			t.Errorf("variable %s is asked for as %s", v.Name, v.Definition)
		}
		add("variable "+v.Name, fmt.Sprintf("group by (%s) (%s)", v.Name, selector))
	}
	return found
}

// promql runs the program in the directory of that name.
func promql(t *testing.T, args ...string) ([]byte, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", append([]string{"-C", "promql", "run", "."}, args...)...)
	command.Stderr = os.Stderr
	return command.Output()
}

func abs(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	check.NoError(t, err)
	return path
}

// Every alert has cases in which it fires and in which it does not, and something to read.
func TestAlerts(t *testing.T) {
	rules := abs(t, filepath.Join(chart, "files", "alerts.yaml"))
	output, err := promql(t, "-rules", rules, "-cases", abs(t, "alerts_cases.yaml"))
	t.Logf("%s", output)
	check.Report(t, err)
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert       string
				Annotations map[string]string
			}
		}
	}
	content, err := os.ReadFile(rules)
	check.NoError(t, err)
	check.NoError(t, yaml.Unmarshal(content, &file))
	book, err := os.ReadFile(alertsMD)
	check.NoError(t, err)
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if !strings.Contains(string(book), "\n## "+r.Alert+"\n") {
				t.Errorf("docs/alerts.md does not say what to do about %s", r.Alert)
			}
			if !strings.HasSuffix(r.Annotations["runbook_url"], "docs/alerts.md#"+strings.ToLower(r.Alert)) ||
				r.Annotations["summary"] == "" {
				t.Errorf("annotations of %s are %v", r.Alert, r.Annotations)
			}
		}
	}
}
