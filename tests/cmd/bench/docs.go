package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Files of -docs in its directory. A page has its table between two markers; the rest is written by hand.
const (
	resultFile  = "bench.json"
	beforeFile  = "bench-before.json" // read only: an earlier result to show beside, made with -json
	pageFile    = "benchmarks.md"
	fleetFile   = "fleet.md" // the cost of a cluster, for those with many
	latencyFile = "bench-latency.svg"
	scalingFile = "bench-scaling.svg"

	tableBegin = "<!-- bench: begin, written by make bench -->"
	tableEnd   = "<!-- bench: end -->"
)

// document writes the result into a directory of documentation. Sections left out of this run stay unchanged there.
func (r *result) document(dir string) error {
	earlier, err := readResult(filepath.Join(dir, resultFile))
	if err != nil {
		return err
	}
	if earlier != nil {
		r = r.over(earlier)
	}
	before, err := readResult(filepath.Join(dir, beforeFile))
	if err != nil {
		return err
	}
	if err := r.write(filepath.Join(dir, resultFile)); err != nil {
		return err
	}
	for name, p := range map[string]plot{latencyFile: r.latencyPlot(), scalingFile: r.scalingPlot()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(p.svg(r.Machine.short())), 0o644); err != nil {
			return fmt.Errorf("write a plot: %w", err)
		}
	}
	for name, text := range map[string]string{pageFile: r.markdown(before), fleetFile: r.fleet()} {
		if err := fill(filepath.Join(dir, name), text); err != nil {
			return err
		}
	}
	return nil
}

// fill replaces the part of a page between the markers.
func fill(path, text string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the page: %w", err)
	}
	page, err = between(page, text)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := os.WriteFile(path, page, 0o644); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// between returns the page with the part between the markers replaced by text.
func between(page []byte, text string) ([]byte, error) {
	head, rest, found := bytes.Cut(page, []byte(tableBegin))
	_, tail, ended := bytes.Cut(rest, []byte(tableEnd))
	if !found || !ended {
		return nil, errors.New("the markers for the table are missing")
	}
	return fmt.Appendf(nil, "%s%s\n%s%s%s", head, tableBegin, text, tableEnd, tail), nil
}

// markdown returns the tables, the requests and the plots.
func (r *result) markdown(before *result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s.\n", r.Machine)
	if before != nil {
		fmt.Fprintf(&b, "\nBefore: %s.\n", before.Machine)
	}
	if r.Sizes.Quick {
		b.WriteString("\nA quick run, with small numbers.\n")
	}
	for _, s := range r.Sections {
		fmt.Fprintf(&b, "\n**%s** (%s, %.0f s)\n\n", s.Name, s.Time.Format("2006-01-02 15:04"), s.Seconds)
		names := append([]string{"measure"}, header(before)...)
		fmt.Fprintf(&b, "| %s |\n|---|%s\n", strings.Join(names, " | "), strings.Repeat("--:|", len(names)-1))
		for _, x := range s.Rows {
			fmt.Fprintf(&b, "| %s | %s |\n", x.Measure, strings.Join(x.cells(before), " | "))
		}
	}
	fmt.Fprintf(&b, "\n![Distribution of latency](%s)\n![What more locked objects cost](%s)\n", latencyFile, scalingFile)
	b.WriteString("\nRequests of the operator, for each revert unless it says otherwise:\n\n")
	for _, s := range r.Sections {
		for _, note := range s.Requests {
			fmt.Fprintf(&b, "- %s: %s\n", note.Measure, note.Per)
		}
	}
	return b.String() + "\n"
}

// latencyPlot shows the distribution of latencies: the share of drifts reverted within a number of milliseconds.
func (r *result) latencyPlot() plot {
	p := plot{title: "From the tampering to the declared state", x: "milliseconds", y: "% of the drifts", logX: true}
	styles := map[string]struct {
		colour string
		dashed bool
	}{singleDrift: {colourOperator, false}, oneObject: {colourThird, false}, deletions: {colourSecond, false}}
	shares := make([]float64, 101)
	for i := range shares {
		shares[i] = float64(i)
	}
	for _, s := range r.Sections {
		for _, c := range s.Curves {
			style, shown := styles[c.Measure]
			if !shown || len(c.Operator) != len(shares) || len(c.Floor) != len(shares) {
				continue
			}
			p.lines = append(p.lines,
				line{name: c.Measure + ", helm-locker", colour: style.colour, x: c.Operator, y: shares},
				line{name: c.Measure + ", floor", colour: style.colour, dashed: true, x: c.Floor, y: shares})
		}
	}
	for i := range p.lines { // what was seen before the answer to the tampering is on the left edge
		p.lines[i].x = atLeast(p.lines[i].x, 0.5)
	}
	return p
}

// scalingPlot shows time, memory and latency against the number of locked objects.
func (r *result) scalingPlot() plot {
	p := plot{title: "What more locked objects cost", x: "locked objects", y: "s, MiB, ms", logX: true, logY: true}
	for _, s := range r.Sections {
		if len(s.Points) == 0 {
			continue
		}
		lines := []line{
			{name: "time to lock, s", colour: colourOperator}, {name: "memory at rest, MiB", colour: colourSecond},
			{name: "single drift, median, ms", colour: colourThird},
			{name: "single drift, floor, ms", colour: colourFloor, dashed: true},
		}
		for _, at := range s.Points {
			for i, v := range []float64{at.Lock, at.Memory, at.Drift, at.Floor} {
				lines[i].dots, lines[i].x, lines[i].y = true, append(lines[i].x, float64(at.Objects)),
					append(lines[i].y, max(v, 0.01))
			}
		}
		p.lines = append(p.lines, lines...)
	}
	return p
}

func atLeast(values []float64, least float64) []float64 {
	raised := make([]float64, len(values))
	for i, v := range values {
		raised[i] = max(v, least)
	}
	return raised
}
