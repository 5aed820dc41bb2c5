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
	resultFile = "bench.json"
	pageFile   = "benchmarks.md"
	fleetFile  = "fleet.md" // the cost of a cluster, for those with many

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
	if err := r.write(filepath.Join(dir, resultFile)); err != nil {
		return err
	}
	for name, text := range map[string]string{pageFile: r.markdown(), fleetFile: r.fleet()} {
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

// markdown returns the tables and the requests.
func (r *result) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s.\n", r.Machine)
	if r.Sizes.Quick {
		b.WriteString("\nA quick run, with small numbers.\n")
	}
	for _, s := range r.Sections {
		fmt.Fprintf(&b, "\n**%s** (%s, %.0f s)\n\n", s.Name, s.Time.Format("2006-01-02 15:04"), s.Seconds)
		fmt.Fprintf(&b, "| %s |\n|---|%s\n", strings.Join(columns[:], " | "), strings.Repeat("--:|", len(columns)-1))
		for _, x := range s.Rows {
			fmt.Fprintf(&b, "| %s |\n", strings.Join(x.cells(), " | "))
		}
	}
	b.WriteString("\nRequests of the operator, for each revert unless it says otherwise:\n\n")
	for _, s := range r.Sections {
		for _, note := range s.Requests {
			fmt.Fprintf(&b, "- %s: %s\n", note.Measure, note.Per)
		}
	}
	return b.String() + "\n"
}
