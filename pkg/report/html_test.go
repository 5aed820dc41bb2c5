package report

import (
	"strings"
	"testing"
	"time"

	"github.com/rancher/helm-locker/pkg/history"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// A reader of a report about a fleet sees the releases that differ, and opens the others.
func TestHTMLShowsDifferingReleasesFirstAndFoldsTheRest(t *testing.T) {
	text, err := driftOfAll().HTML("", "")
	check.NoError(t, err)
	first, rest, found := strings.Cut(text, "<details data-of=\"")
	check.Must(t, found, "nothing is folded in\n%s", text)
	rest, _, _ = strings.Cut(rest, "</details>")
	for name, differs := range map[string]bool{"apps/</span>web": true, "kitchen/</span>broken": true,
		"kitchen/</span>half": true, "apps/</span>calm": false, "apps/</span>extra": false, "apps/</span>gone": false} {
		row := `<span class="ns">` + name
		check.That(t, strings.Contains(first, row) == differs && strings.Contains(rest, row) != differs,
			"%s: before the fold %t, in it %t", name, strings.Contains(first, row), strings.Contains(rest, row))
	}
	check.That(t, strings.Contains(rest, "without drift, 1 release with nothing deployed</summary>"),
		"the title of the fold is in\n%s", rest)
	for _, want := range []string{`id="only-all" checked`, `id="only-drifted"`, `id="only-incomplete"`, `id="only-left-out"`,
		`body:has(#only-drifted:checked) [data-of]:not([data-of~=drifted]) { display: none; }`, `<section class="card" data-of="drifted additions" id="r3">`,
		`<tr data-of="left-out">`, `<tr data-of="incomplete" class="attention">`} {
		check.That(t, strings.Contains(text, want), "%s is not in\n%s", want, text)
	}
	none := NewDrift(time.Time{}, "", []ReleaseDrift{{Namespace: "apps", Name: "calm", Compared: 2}})
	text, err = none.HTML("", "")
	check.That(t,
		err == nil && strings.Contains(text, "No release differs.") &&
			strings.Contains(text, "1 release without drift</summary>"), "%v: without drift\n%s", err, text)
}

func TestHTMLChartsTheDay(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	d, day := driftOfAll(), history.New()
	if text, err := d.HTML("", ""); err != nil || strings.Contains(text, "Drift of the last day") {
		t.Errorf("%v: there is a chart without data", err)
	}
	day.Add(now, history.Change{Release: "apps/web", Author: "<b>kubectl-edit", Time: now})
	d.Day = day.Chart(now, func(string) bool { return true })
	d.Day.Notes = []string{"from <status>"}
	text, err := d.HTML("", "")
	check.NoError(t, err)
	for _, want := range []string{"Drift of the last day", `<bdi>apps/web</bdi>`, `<bdi>&lt;b&gt;kubectl-edit</bdi>`,
		`<svg class="bars"`, "<title>03:00 to 04:00: 1</title>", "from &lt;status&gt;", "1 change<"} {
		check.That(t, strings.Contains(text, want), "%s is not in\n%s", want, text)
	}
}
