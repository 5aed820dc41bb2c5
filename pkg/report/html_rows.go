package report

import (
	_ "embed" // the template
	"slices"
	"strings"

	"github.com/rancher/helm-locker/pkg/history"
	"github.com/rancher/helm-locker/pkg/plain"
)

// filters are the kinds of releases that a tile of the HTML report shows alone.
var filters = []string{"drifted", "incomplete", "left-out", "additions", "known"}

// htmlRow is a release in the HTML report, with its index in the report and the filters that show it.
type htmlRow struct {
	*ReleaseDrift
	Index   int
	Filters string
}

// htmlTable is a table of releases. Its filters are those of all its rows: a filter hides a table without rows, too.
type htmlTable struct {
	Rows     []htmlRow
	Contexts bool
	Filters  string
}

// split returns the releases with drift or without a complete comparison, and the others; nil for none.
func (d *Drift) split() (differing, rest *htmlTable) {
	var differ, others []htmlRow
	for i := range d.Releases {
		r := htmlRow{ReleaseDrift: &d.Releases[i], Index: i, Filters: d.Releases[i].filters()}
		if r.Differs() {
			differ = append(differ, r)
		} else {
			others = append(others, r)
		}
	}
	return d.table(differ), d.table(others)
}

func (d *Drift) table(rows []htmlRow) *htmlTable {
	if len(rows) == 0 {
		return nil
	}
	var all []string
	for _, r := range rows {
		all = append(all, strings.Fields(r.Filters)...)
	}
	slices.Sort(all)
	return &htmlTable{Rows: rows, Contexts: len(d.Contexts) > 0, Filters: strings.Join(slices.Compact(all), " ")}
}

// filters returns the filters that show the release.
func (r *ReleaseDrift) filters() string {
	var fitting []string
	for i, fits := range []bool{len(r.Differences) > 0, r.Incomplete(), r.LeftOut != "", r.Additions > 0, r.Known > 0} {
		if fits {
			fitting = append(fitting, filters[i])
		}
	}
	return strings.Join(fitting, " ")
}

// Differs reports whether the release has drifted or could not be compared completely.
func (r htmlRow) Differs() bool { return len(r.Differences) > 0 || r.Incomplete() }

// Tone returns the class for the colour of the result.
func (r htmlRow) Tone() string {
	if r.LeftOut != "" {
		return "quiet"
	}
	return tone(r.Differs())
}

// Title counts the releases of a table without drift.
func (t *htmlTable) Title() string {
	leftOut := 0
	for _, r := range t.Rows {
		if r.LeftOut != "" {
			leftOut++
		}
	}
	var counts []string
	if n := len(t.Rows) - leftOut; n > 0 {
		counts = append(counts, plain.Count(n, "release")+" without drift")
	}
	if leftOut > 0 {
		counts = append(counts, plain.Count(leftOut, "release")+" with nothing deployed")
	}
	return strings.Join(counts, ", ")
}

// htmlGroup is a group of rows of a chart with its titles.
type htmlGroup struct {
	history.Group
	Title, From, Until string
}

func groupOf(title string, c *history.Chart, g history.Group) htmlGroup {
	return htmlGroup{Group: g, Title: title, From: c.From, Until: c.Until}
}

func tone(bad bool) string {
	if bad {
		return "bad"
	}
	return "good"
}
