package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
)

// print writes the table, the requests to the API server, and the machine.
func (r *result) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(columns[:], "\t"))
	for _, s := range r.Sections {
		for _, x := range s.Rows {
			fmt.Fprintln(t, strings.Join(x.cells(), "\t"))
		}
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	fmt.Fprintln(w, "\nrequests of the operator (for each revert unless it says otherwise):")
	for _, s := range r.Sections {
		for _, note := range s.Requests {
			fmt.Fprintf(w, "  %s: %s\n", note.Measure, note.Per)
		}
	}
	_, err := fmt.Fprintf(w, "\n%s\n", r.Machine)
	return err
}

// columns are the titles of cells.
var columns = [...]string{"measure", "floor", "helm-locker", "unit", "ratio", "target", ""}

func (x row) cells() []string {
	verdict := ""
	if x.Met != nil {
		verdict = "met"
		if !*x.Met {
			verdict = "MISSED"
		}
	}
	return []string{x.Measure, optional(x.Floor, figure), figure(x.Operator), x.Unit, optional(x.Ratio, times),
		x.Target, verdict}
}

func times(ratio float64) string { return fmt.Sprintf("%.2fx", ratio) }

func optional(v *float64, text func(float64) string) string {
	if v == nil {
		return ""
	}
	return text(*v)
}

// figure returns a number with its significant digits.
func figure(v float64) string {
	if v == math.Trunc(v) || math.Abs(v) >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
