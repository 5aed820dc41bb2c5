package page

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/release/whole"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func compared(differences ...inspect.Difference) *inspect.Comparison {
	details := &whole.Release{}
	details.Key, details.Revision = release.Key{Namespace: "apps", Name: "shop"}, 3
	return &inspect.Comparison{Release: details, Compared: len(differences), Differences: differences}
}

func modified(name string, want, have map[string]any) inspect.Difference {
	object := func(data map[string]any) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name},
			"data": data}
	}
	return inspect.Difference{
		ID: manifest.ID{Kind: "ConfigMap", Namespace: "apps", Name: name}, State: inspect.StateModified,
		Want: object(want), Have: object(have), Changes: []inspect.Change{{Change: drift.Change{Path: "/data/key"}}},
	}
}

func shown(t *testing.T, c *inspect.Comparison) *comparison {
	t.Helper()
	view, err := viewOfComparison(c, "jane", time.Unix(0, 0))
	check.NoError(t, err)
	return view
}

func TestAComparisonIsBounded(t *testing.T) {
	lines := func(n int, text string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%d %s\n", i, text)
		}
		return b.String()
	}
	differences := []inspect.Difference{
		modified("many-lines", map[string]any{"key": ""}, map[string]any{"key": lines(5000, "x")}),
		modified("long-line", map[string]any{"key": ""}, map[string]any{"key": strings.Repeat("x", 100<<10)}),
		modified("huge", map[string]any{"key": ""}, map[string]any{"key": strings.Repeat("x", 300<<10)}),
		{ID: manifest.ID{Kind: "ConfigMap", Name: "left-out"}, State: inspect.StateModified, TooLarge: true,
			Changes: make([]inspect.Change, 1)},
	}
	for i := range 40 {
		differences = append(differences, modified(fmt.Sprint("more", i), map[string]any{"key": ""},
			map[string]any{"key": lines(200, strings.Repeat("y", 900))}))
	}
	c := compared(differences...)
	for i := range 1000 {
		c.Failures = append(c.Failures, inspect.Failure{ID: manifest.ID{Kind: "ConfigMap", Name: fmt.Sprint(i)},
			Err: errors.New("gone\x1b[2J")})
	}
	view := shown(t, c)
	first := view.Differences[0]
	check.That(t, len(first.Lines) == mostLines && first.Cut >= 4000, "%d lines, and %d are cut", len(first.Lines),
		first.Cut)
	check.That(t, !view.Differences[1].TooLarge && view.Differences[2].TooLarge && len(view.Differences[2].Lines) == 0,
		"the bound is not between 100 and 300 KiB")
	left := view.Differences[3]
	check.That(t, left.TooLarge && len(left.Lines) == 0, "an object whose content was left out is shown as %+v", left)
	check.That(t, len(view.Failures) == mostReasons+1 && strings.Contains(view.Failures[0], `gone\x1b[2J`),
		"failures: %q", view.Failures)
	encoded, err := json.Marshal(view)
	check.NoError(t, err)
	check.That(t, len(encoded) <= mostBytes+mostBytes/10, "it takes %d bytes", len(encoded))
}
