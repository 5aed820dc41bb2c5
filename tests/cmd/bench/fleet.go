package main

import (
	"fmt"
	"strings"
)

// fleet returns the table of what an operator costs in each cluster of a fleet, by the number of its locked releases.
func (r *result) fleet() string {
	scale := r.section("scale")
	if scale == nil {
		return "\nNo sizes were measured.\n\n"
	}
	rows := []struct {
		name  string
		value func(point) string
	}{
		{"in each cluster", func(p point) string {
			return fmt.Sprintf("%d releases, %d objects", p.Releases, p.Objects)
		}},
		{"---", func(point) string { return "--:" }},
		{"resident memory of the operator", func(p point) string { return fmt.Sprintf("%.0f MiB", p.Memory) }},
		{"all locked after a start", func(p point) string { return fmt.Sprintf("%.1f s", p.Lock) }},
		{"a change reverted, median", func(p point) string { return fmt.Sprintf("%.0f ms", p.Drift) }},
		{"memory of 1,000 such operators", func(p point) string { return fmt.Sprintf("%.0f GiB", p.Memory*1000/1024) }},
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s.\n\n", r.Machine)
	for _, row := range rows {
		cells := []string{row.name}
		for _, p := range scale.Points {
			cells = append(cells, row.value(p))
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	if x := r.row(singleDrift + ", requests per revert"); x != nil {
		fmt.Fprintf(&b, "\nA revert takes %.0f requests to the API server of its cluster.\n", x.Operator)
	}
	return b.String() + "\n"
}
