package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// scrapeInterval is how far apart the scraped texts are taken to be.
const scrapeInterval = 15 * time.Second

// memory holds series; it is all the storage that the engine needs.
type memory struct {
	series map[string]*promql.Series // by their labels
}

func (m *memory) add(l labels.Labels, at int64, value float64) {
	key := l.String()
	if m.series[key] == nil {
		m.series[key] = &promql.Series{Metric: l}
	}
	m.series[key].Floats = append(m.series[key].Floats, promql.FPoint{T: at, F: value})
}

// Querier makes the memory a storage.Queryable.
func (m *memory) Querier(from, to int64) (storage.Querier, error) {
	return &querier{memory: m, from: from, to: to}, nil
}

type querier struct {
	*memory
	from, to int64
}

func (q *querier) Select(
	_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher,
) storage.SeriesSet {
	set := &seriesSet{at: -1}
	for _, s := range q.series {
		if !matches(s.Metric, matchers) {
			continue
		}
		selected := promql.Series{Metric: s.Metric}
		for _, p := range s.Floats {
			if p.T >= q.from && p.T <= q.to {
				selected.Floats = append(selected.Floats, p)
			}
		}
		if len(selected.Floats) > 0 {
			set.series = append(set.series, selected)
		}
	}
	slices.SortFunc(set.series, func(a, b promql.Series) int { return labels.Compare(a.Metric, b.Metric) })
	return set
}

func matches(l labels.Labels, matchers []*labels.Matcher) bool {
	for _, m := range matchers {
		if !m.Matches(l.Get(m.Name)) {
			return false
		}
	}
	return true
}

func (q *querier) LabelValues(
	context.Context, string, *storage.LabelHints, ...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (q *querier) LabelNames(
	context.Context, *storage.LabelHints, ...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (q *querier) Close() error { return nil }

type seriesSet struct {
	series []promql.Series
	at     int
}

func (s *seriesSet) Next() bool                        { s.at++; return s.at < len(s.series) }
func (s *seriesSet) At() storage.Series                { return promql.NewStorageSeries(s.series[s.at]) }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }

// missing returns the selectors of an expression that select nothing.
func (m *memory) missing(expr parser.Expr) []string {
	var none []string
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		for _, s := range m.series {
			if matches(s.Metric, selector.LabelMatchers) {
				return nil
			}
		}
		none = append(none, selector.String())
		return nil
	})
	return none
}

// readScrapes reads texts as a scraper of a target with those labels would, and returns the time of the last one.
func readScrapes(dir, target string) (*memory, time.Time, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.prom"))
	if err != nil || len(files) == 0 {
		return nil, time.Time{}, fmt.Errorf("no scraped texts in %s (%w)", dir, err)
	}
	slices.Sort(files)
	m := &memory{series: map[string]*promql.Series{}}
	at := time.Unix(1_700_000_000, 0)
	for n, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, at, err
		}
		text := expfmt.NewTextParser(model.UTF8Validation)
		families, err := text.TextToMetricFamilies(bytes.NewReader(content))
		if err != nil {
			return nil, at, fmt.Errorf("%s: %w", file, err)
		}
		if n > 0 {
			at = at.Add(scrapeInterval)
		}
		decoded, err := expfmt.ExtractSamples(&expfmt.DecodeOptions{Timestamp: model.TimeFromUnixNano(at.UnixNano())},
			slices.Collect(values(families))...)
		if err != nil {
			return nil, at, fmt.Errorf("%s: %w", file, err)
		}
		for _, sample := range decoded {
			b := labels.NewBuilder(labels.EmptyLabels())
			for name, value := range sample.Metric {
				b.Set(string(name), string(value))
			}
			for pair := range strings.SplitSeq(target, ",") {
				name, value, _ := strings.Cut(pair, "=")
				b.Set(name, value)
			}
			m.add(b.Labels(), at.UnixMilli(), float64(sample.Value))
		}
	}
	return m, at, nil
}

func values(families map[string]*dto.MetricFamily) func(func(*dto.MetricFamily) bool) {
	return func(yield func(*dto.MetricFamily) bool) {
		for _, f := range families {
			if !yield(f) {
				return
			}
		}
	}
}
