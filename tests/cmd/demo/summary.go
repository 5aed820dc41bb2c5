package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// result is a row of the summary.
type result struct {
	what    string
	release string
	ok      bool
	note    string
	// lived is the lifetime of a change; zero in a row about something else.
	lived time.Duration
}

// summary collects the results.
type summary struct{ results []result }

func (s *summary) add(r result) { s.results = append(s.results, r) }

func (s *summary) failed() bool {
	return slices.ContainsFunc(s.results, func(r result) bool { return !r.ok })
}

// show prints all rows, and the median of how long changes lived.
func (s *summary) show(to *screen) {
	to.act("Summary")
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	var lived []time.Duration
	for _, r := range s.results {
		mark := "ok    "
		if !r.ok {
			mark = "FAILED"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", mark, r.release, r.what, r.note)
		if r.ok && r.lived > 0 {
			lived = append(lived, r.lived)
		}
	}
	// It writes to memory and does not fail.
	_ = table.Flush()
	for line := range strings.Lines(text.String()) {
		style := styleGreen
		if strings.HasPrefix(line, "FAILED") {
			style = styleRed
		}
		fmt.Fprintln(to.out, to.style(style, line[:6])+strings.TrimRight(line[6:], " \n"))
	}
	if len(lived) > 0 {
		slices.Sort(lived)
		fmt.Fprintf(to.out, "\nA change that was reverted while the operator ran lived %s at the median, %s at most "+
			"(%d changes).\n", milliseconds(lived[len(lived)/2]), milliseconds(lived[len(lived)-1]), len(lived))
	}
}

// milliseconds returns "4.2 ms".
func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}
