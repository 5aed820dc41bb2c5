package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// exception accepts a vulnerability without effect until a day. Then a person has to review it.
type exception struct {
	id, reason string
	until      time.Time
}

// parseExceptions reads lines of the form "GO-2026-0001 2026-12-31 why it does not matter". Lines that begin with # are
// comments.
func parseExceptions(text string) ([]exception, error) {
	var all []exception
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.SplitN(line, " ", 3)
		if len(fields) != 3 || strings.TrimSpace(fields[2]) == "" {
			return nil, fmt.Errorf("line %d is not ID YYYY-MM-DD REASON", n)
		}
		until, err := time.Parse(time.DateOnly, fields[1])
		if err != nil {
			return nil, fmt.Errorf("line %d: %q is not a day like 2026-12-31", n, fields[1])
		}
		all = append(all, exception{id: fields[0], until: until, reason: strings.TrimSpace(fields[2])})
	}
	return all, nil
}

// report prints the findings with their results. The error lists the failures: a reachable vulnerable function without
// an exception, an expired exception, an exception without a finding.
func report(out io.Writer, found []finding, of about, exceptions []exception, today time.Time) error {
	asked := "of unknown age"
	if of.Modified != nil {
		asked = "of " + of.Modified.UTC().Format(time.DateOnly)
	}
	fmt.Fprintf(out, "vulncheck: govulncheck %s, %s, database %s %s\n", of.Scanner, of.Go, of.DB, asked)
	var problems []error
	used := map[string]bool{}
	for _, f := range found {
		name := fmt.Sprintf("%s in %s %s", f.id, f.module, f.version)
		switch e := exceptionFor(exceptions, f.id); {
		case len(f.via) == 0:
			fmt.Fprintf(out, "  %s: not reached. %s\n", name, f.summary)
		case e == nil:
			fmt.Fprintf(out, "  %s: REACHED. %s\n    %s\n", name, f.summary, strings.Join(f.via, "\n    "))
			problems = append(problems, fmt.Errorf("%s: %s", name, remedy(f)))
		case today.After(e.until):
			used[f.id] = true
			problems = append(problems, fmt.Errorf("%s: its exception ended on %s: %s", name,
				e.until.Format(time.DateOnly), remedy(f)))
		default:
			used[f.id] = true
			fmt.Fprintf(out, "  %s: excepted until %s: %s\n", name, e.until.Format(time.DateOnly), e.reason)
		}
	}
	for _, e := range exceptions {
		if !used[e.id] {
			problems = append(problems, fmt.Errorf("%s is excepted and not found: take the exception out", e.id))
		}
	}
	if len(problems) == 0 {
		fmt.Fprintln(out, "vulncheck: nothing that matters")
	}
	return errors.Join(problems...)
}

func exceptionFor(exceptions []exception, id string) *exception {
	for i := range exceptions {
		if exceptions[i].id == id {
			return &exceptions[i]
		}
	}
	return nil
}

func remedy(f finding) string {
	if f.fixed == "" {
		return "no version is fixed: avoid it, or except it with a reason"
	}
	return fmt.Sprintf("upgrade to %s, or except it with a reason", f.fixed)
}
