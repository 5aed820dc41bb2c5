package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// result is the result of one mutant and its duration, its build included.
type result struct {
	mutant
	outcome
	took time.Duration
}

func (r result) seconds() string { return fmt.Sprintf("%.0f", r.took.Seconds()) }

// printTable prints one line for every result, and the number of each verdict.
func printTable(out io.Writer, results []result) {
	count := map[verdict]int{}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "promise\tmutant\ttests\tverdict\tseconds")
	for _, r := range results {
		count[r.verdict]++
		fmt.Fprintf(table, "%s\t%s\t%s %s\t%s\t%s\n", r.promise, r.what, r.pkg, r.run, r.verdict, r.seconds())
	}
	// It writes to standard output or a buffer.
	_ = table.Flush()
	fmt.Fprintf(out, "\n%d mutants: %d killed, %d survived, %d broken\n", len(results), count[killed], count[survived],
		count[broken])
	for _, r := range results {
		if r.verdict != killed {
			fmt.Fprintf(out, "%s: %s: %s\n", r.verdict, r.mutant, r.line)
		}
	}
}

func allKilled(results []result) bool {
	for _, r := range results {
		if r.verdict != killed {
			return false
		}
	}
	return true
}
