package history

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rancher/helm-locker/pkg/plain"
)

const (
	// mostRows bounds the rows of a group, and mostWith the names beside a row.
	mostRows, mostWith = 10, 3

	// The picture of a row, in its own units: a bar has a place of slot, and barWidth of that is filled.
	slot, barWidth, height = 10, 8, 30
	// least is the height of the lowest bar: one change is visible beside a thousand.
	least = 2
)

// Chart is the drift of a day. All texts are neutral and short.
type Chart struct {
	// From and Until are the ends of the day: the beginning of the first hour, and the end of the last one.
	From  string `json:"from"`
	Until string `json:"until"`
	// Notes name the source of the counts, and the changes that are missing. The caller sets them.
	Notes    []string `json:"notes"`
	Total    int      `json:"total"`
	Releases Group    `json:"releases"`
	Authors  Group    `json:"authors"`
}

// Group has the rows with the most changes.
type Group struct {
	Rows []Row `json:"rows"`
	// More describes the further rows; empty without.
	More string `json:"more,omitempty"`
}

// Row is the day of a release or of an author.
type Row struct {
	Name  string `json:"name"`
	Total int    `json:"total"`
	// Peak names the hour with the most changes, and Hours all hours with changes.
	Peak  string `json:"peak"`
	Hours string `json:"hours"`
	Bars  []Bar  `json:"bars"`
	// With are the most frequent authors of a release, or the releases of an author, with their counts.
	With []string `json:"with"`
}

// Bar is the bar of an hour with changes. All bars of a chart have one scale.
type Bar struct {
	X      int     `json:"x"`
	Y      float64 `json:"y"`
	Height float64 `json:"height"`
	Text   string  `json:"text"`
}

// series are the counts of a name.
type series struct {
	hours [Hours]int
	total int
	with  map[string]int
}

// Chart returns the chart of the last 24 hours, and nil without a change. Only releases for which shown is true are in
// it, and only their authors.
func (d *Day) Chart(now time.Time, shown func(release string) bool) *Chart {
	d.trim(now)
	first := hourOf(now) - Hours + 1
	releases, authors := map[string]*series{}, map[string]*series{}
	c := &Chart{From: clock(first), Until: clock(first+Hours) + " UTC"}
	rest := 0
	for at, h := range d.hours {
		for p, n := range h.pairs {
			if shown(p.release) {
				add(releases, p.release, p.author, at-first, n)
				add(authors, p.author, p.release, at-first, n)
				c.Total += n
			}
		}
		rest += h.rest
	}
	if c.Total == 0 {
		return nil
	}
	most := 0
	for _, all := range []map[string]*series{releases, authors} {
		for _, s := range all {
			most = max(most, slices.Max(s.hours[:]))
		}
	}
	c.Releases, c.Authors = group(releases, first, most, "release"), group(authors, first, most, "author")
	if rest > 0 {
		c.Notes = append(c.Notes,
			plain.Count(rest, "more change")+" of very busy hours are counted for no release and no author.")
	}
	return c
}

func add(to map[string]*series, name, with string, at int64, n int) {
	s := to[name]
	if s == nil {
		s = &series{with: map[string]int{}}
		to[name] = s
	}
	s.hours[at] += n
	s.total += n
	s.with[with] += n
}

// group returns the rows with the most changes. most is the count of the highest bar.
func group(all map[string]*series, first int64, most int, noun string) Group {
	g, names := Group{}, byCount(all, func(s *series) int { return s.total })
	more := 0
	for i, name := range names {
		if i < mostRows {
			g.Rows = append(g.Rows, all[name].row(name, first, most))
		} else {
			more += all[name].total
		}
	}
	if n := len(names) - mostRows; n > 0 {
		g.More = fmt.Sprintf("and %s with %s", plain.Count(n, "more "+noun), plain.Count(more, "change"))
	}
	return g
}

// byCount returns the names, those with the highest counts first.
func byCount[V any](all map[string]V, count func(V) int) []string {
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.SortFunc(names, func(x, y string) int {
		return cmp.Or(cmp.Compare(count(all[y]), count(all[x])), strings.Compare(x, y))
	})
	return names
}

func (s *series) row(name string, first int64, most int) Row {
	r := Row{Name: name, Total: s.total}
	var hours []string
	peak := 0
	for i, n := range s.hours {
		if n == 0 {
			continue
		}
		if n > s.hours[peak] {
			peak = i
		}
		at := first + int64(i)
		high := max(math.Round(100*float64(n)*height/float64(most))/100, least)
		r.Bars = append(r.Bars, Bar{X: i*slot + (slot-barWidth)/2, Y: height - high, Height: high,
			Text: fmt.Sprintf("%s to %s: %d", hourText(at), hourText(at+1), n)})
		hours = append(hours, fmt.Sprintf("%s %d", hourText(at), n))
	}
	r.Peak = fmt.Sprintf("most at %s: %d", hourText(first+int64(peak)), s.hours[peak])
	r.Hours = "Changes in the hours from, UTC: " + strings.Join(hours, ", ")
	with := byCount(s.with, func(n int) int { return n })
	for _, name := range with[:min(len(with), mostWith)] {
		r.With = append(r.With, fmt.Sprintf("%s %d", name, s.with[name]))
	}
	if n := len(with) - mostWith; n > 0 {
		r.With = append(r.With, fmt.Sprintf("and %d more", n))
	}
	return r
}

// SVG returns the bars as an image without text of its own: the title and the description are for screen readers.
func (r *Row) SVG() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="bars" role="img" viewBox="0 0 %d %d" preserveAspectRatio="none">`,
		Hours*slot, height+1)
	fmt.Fprintf(&b, `<title>%s</title><desc>%s</desc>`, html.EscapeString(r.Name), html.EscapeString(r.Hours))
	fmt.Fprintf(&b, `<path d="M0 %d.5H%d" fill="none" stroke="currentColor" stroke-width="1"/>`, height, Hours*slot)
	for _, bar := range r.Bars {
		fmt.Fprintf(&b, `<rect x="%d" y="%s" width="%d" height="%s" fill="currentColor"><title>%s</title></rect>`,
			bar.X, decimal(bar.Y), barWidth, decimal(bar.Height), html.EscapeString(bar.Text))
	}
	return b.String() + "</svg>"
}

func decimal(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// clock returns the beginning of an hour with its day.
func clock(at int64) string { return time.Unix(at*3600, 0).UTC().Format("2 Jan 15:04") }

// hourText returns the beginning of an hour.
func hourText(at int64) string { return time.Unix(at*3600, 0).UTC().Format("15:04") }
