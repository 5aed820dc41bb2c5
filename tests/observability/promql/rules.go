package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

// step is how often rules are evaluated, and how far apart the values of a case's series are.
const step = time.Minute

// testCase has the expected alerts of one name some time after the beginning of the series.
type testCase struct {
	Name   string              `yaml:"name"`
	Alert  string              `yaml:"alert"`
	Series []string            `yaml:"series"` // as in promtool: name{labels} values
	At     model.Duration      `yaml:"at"`
	Fires  []map[string]string `yaml:"fires"` // their labels, severity aside; none when it must not fire
}

// readAlerts returns the alerts of a rule file by name, after the checks that Prometheus makes of it.
func readAlerts(file string, language parser.Parser) (map[string]rulefmt.Rule, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	groups, errs := rulefmt.Parse(content, false, model.UTF8Validation, language, slog.Default())
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	alerts := map[string]rulefmt.Rule{}
	for _, g := range groups.Groups {
		for _, r := range g.Rules {
			alerts[r.Alert] = r
		}
	}
	return alerts, nil
}

func runCases(
	ctx context.Context, engine *promql.Engine, language parser.Parser, rules, file string, out io.Writer,
) error {
	alerts, err := readAlerts(rules, language)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var cases []testCase
	if err := yaml.Unmarshal(content, &cases); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	failed := 0
	seen := map[string]map[bool]bool{}
	for _, c := range cases {
		alert, ok := alerts[c.Alert]
		if !ok {
			return fmt.Errorf("case %q: there is no alert %q", c.Name, c.Alert)
		}
		if seen[c.Alert] == nil {
			seen[c.Alert] = map[bool]bool{}
		}
		seen[c.Alert][len(c.Fires) > 0] = true
		got, err := firing(ctx, engine, language, alert, c)
		if err != nil {
			return fmt.Errorf("case %q: %w", c.Name, err)
		}
		want := make([]string, 0, len(c.Fires))
		for _, l := range c.Fires {
			want = append(want, labels.FromMap(l).String())
		}
		slices.Sort(want)
		if !slices.Equal(got, want) {
			failed++
			fmt.Fprintf(out, "%s (%s): fires for %s, want %s\n", c.Name, c.Alert, strings.Join(got, " "),
				strings.Join(want, " "))
		}
	}
	for name := range alerts {
		if !seen[name][true] || !seen[name][false] {
			failed++
			fmt.Fprintf(out, "%s: needs a case in which it fires and one in which it does not\n", name)
		}
	}
	fmt.Fprintf(out, "%d cases, %d failed\n", len(cases), failed)
	if failed > 0 {
		return errors.New("cases failed")
	}
	return nil
}

// firing returns the labels of the alerts at the time of the case: of the series in every result of the expression for
// the duration of the rule.
func firing(
	ctx context.Context, engine *promql.Engine, language parser.Parser, alert rulefmt.Rule, c testCase,
) ([]string, error) {
	data := &memory{series: map[string]*promql.Series{}}
	begun := time.Unix(1_700_000_000, 0)
	for _, line := range c.Series {
		metric, sequence, err := language.ParseSeriesDesc(line)
		if err != nil {
			return nil, fmt.Errorf("series %q: %w", line, err)
		}
		for n, v := range sequence {
			if !v.Omitted {
				data.add(metric, begun.Add(time.Duration(n)*step).UnixMilli(), v.Value)
			}
		}
	}
	at := begun.Add(time.Duration(c.At))
	from := at.Add(-time.Duration(alert.For))
	if from.Before(begun) {
		return nil, errors.New("it is looked at before it could have fired")
	}
	query, err := engine.NewRangeQuery(ctx, data, nil, alert.Expr, from, at, step)
	if err != nil {
		return nil, err
	}
	defer query.Close()
	matrix, err := query.Exec(ctx).Matrix()
	if err != nil {
		return nil, err
	}
	evaluations := int(at.Sub(from)/step) + 1
	var found []string
	for _, s := range matrix {
		if len(s.Floats) == evaluations {
			found = append(found, s.Metric.String())
		}
	}
	slices.Sort(found)
	return found, nil
}
