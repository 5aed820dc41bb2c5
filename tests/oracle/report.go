package oracle

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
)

// violation is one broken promise.
type violation struct {
	rule, what string
	id         identity
}

// Report is the result of judging recordings.
type Report struct {
	exceptions []exception // of the recording that is judged
	violations []violation
	notes      map[string]int
	// Writes of operators to objects of releases, their requests, and objects checked when their operator ended.
	judged, unjudged, requests, settled int
}

func newReport() *Report { return &Report{notes: map[string]int{}} }

func (r *Report) fail(rule string, id identity, format string, args ...any) {
	for _, e := range r.exceptions {
		if e.Rule == rule && (e.Namespace == "" || e.Namespace == id.namespace || e.Namespace == id.name) {
			r.note("excused from " + e.Rule + ": " + e.Reason)
			return
		}
	}
	r.violations = append(r.violations, violation{rule, fmt.Sprintf(format, args...), id})
}

func (r *Report) note(what string) { r.notes[what]++ }

func (r *Report) print(w io.Writer) {
	fmt.Fprintf(w, "%d writes judged, %d not; %d requests; %d objects looked at when their operator ended\n", r.judged,
		r.unjudged, r.requests, r.settled)
	for _, what := range slices.Sorted(maps.Keys(r.notes)) {
		fmt.Fprintf(w, "  %6d %s\n", r.notes[what], what)
	}
}

// Judge judges every recording in a directory, prints the results, and returns the number of violations.
func Judge(dir string, w io.Writer) (violations int, err error) {
	logs, err := filepath.Glob(filepath.Join(dir, "*", "audit.log"))
	if err != nil {
		return 0, fmt.Errorf("recordings: %w", err)
	}
	all := newReport()
	for _, log := range logs {
		s, err := directory(filepath.Dir(log))
		if err == nil {
			err = s.judge(all)
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			all.note("recordings without an end, which was not judged")
		} else if err != nil {
			return 0, fmt.Errorf("%s: %w", filepath.Dir(log), err)
		}
		for _, v := range all.violations[violations:] {
			fmt.Fprintf(w, "%s: %s BROKEN: %s: %s\n", filepath.Base(filepath.Dir(log)), v.rule, v.id, v.what)
		}
		violations = len(all.violations)
	}
	fmt.Fprintf(w, "%d recordings, %d violations: ", len(logs), violations)
	all.print(w)
	return violations, nil
}
