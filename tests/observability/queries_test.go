package observability

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// queries evaluates the chart's queries with the engine of Prometheus.
func (w *fixture) queries(t *testing.T, dir string) {
	dashboard, rules := rendered(t)
	queries := map[string]string{}
	for title, expr := range expressions(t, dashboard) {
		queries["panel "+title] = expr
	}
	check.Must(t, len(queries) >= 30, "the dashboard has only %d queries", len(queries))
	encoded, err := json.Marshal(queries)
	check.NoError(t, err)
	write := func(name string, content []byte) string {
		path := filepath.Join(t.TempDir(), name)
		check.NoError(t, os.WriteFile(path, content, 0o600))
		return path
	}
	output, err := promql(t, "-scrapes", dir, "-queries", write("queries.json", encoded), "-rules",
		write("rules.yaml", rules),
		"-labels", "cluster=prod,namespace=cattle-helm-system,job=helm-locker-metrics,pod=helm-locker-0,instance=10.0.0.1:8080")
	check.Must(t, err == nil, "%v: %s", err, output)
	results := map[string]struct {
		Series  int
		Error   string
		Missing []string
	}{}
	err = json.Unmarshal(output, &results)
	check.Must(t, err == nil, "%v: %s", err, output)
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
	check.That(t, alerts != 0 && len(results) == len(queries)+alerts,
		"%d results, %d of them of alerts, for %d queries", len(results), alerts, len(queries))
	t.Logf("%d queries and %d alerts evaluated", len(queries), alerts)
}

// rendered returns the dashboard and the rule file of the chart.
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
			rules, err = yaml.Marshal(o.Spec)
			check.NoError(t, err)
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
		check.That(t, !strings.Contains(expr, "$") && found[title] == "",
			"%s: a variable that is not defined, or a second panel of that name: %s", title, expr)
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
		check.That(t, ok, "variable %s is asked for as %s", v.Name, v.Definition)
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

// Every alert has cases with and without its firing, and a section of docs/operations.md.
func TestAlerts(t *testing.T) {
	rules := filepath.Join(chart, "files", "alerts.yaml")
	output, err := promql(t, "-rules", filepath.Join("..", rules), "-cases", "../alerts_cases.yaml")
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
	book, err := os.ReadFile(operations)
	check.NoError(t, err)
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			check.That(t, strings.Contains(string(book), "\n### "+r.Alert+"\n"),
				"docs/operations.md does not say what to do about %s", r.Alert)
			check.That(t,
				strings.HasSuffix(r.Annotations["runbook_url"], "docs/operations.md#"+strings.ToLower(r.Alert)) &&
					r.Annotations["summary"] != "", "annotations of %s are %v", r.Alert, r.Annotations)
		}
	}
}
