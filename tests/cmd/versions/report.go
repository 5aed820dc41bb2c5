package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rancher/helm-locker/tests/lib/cluster"
)

// report contains the results of the tests on one pair of Kubernetes and Helm. Subtests are part of their test.
type report struct {
	cluster.Versions
	begun   time.Time
	passed  int
	failed  []string
	skipped []string
	suites  []string
}

// event is a line of `go test -json` (see `go doc test2json`).
type event struct {
	Time    time.Time
	Action  string
	Package string
	Test    string
	Output  string
}

// module is the common prefix of the suites' packages.
const module = "github.com/rancher/helm-locker/"

// because finds the reason in the output of a skipped test.
var because = regexp.MustCompile(`^\s+\w+_test\.go:\d+: (.+)\n$`)

// read reads the versions, which are the first JSON value, and the events of `go test -json` after it. A suite that
// fails without a failed test (by a compile error or a panic) counts as failed itself.
func read(in io.Reader) (report, error) {
	var r report
	decoder := json.NewDecoder(in)
	if err := decoder.Decode(&r.Versions); err != nil {
		return r, fmt.Errorf("read the versions: %w", err)
	}
	reasons := map[string]string{}
	failing := map[string]bool{}
	for {
		var e event
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return r, fmt.Errorf("read what go test reports: %w", err)
		}
		if r.begun.IsZero() {
			r.begun = e.Time
		}
		suite := strings.TrimPrefix(e.Package, module)
		if found := because.FindStringSubmatch(e.Output); found != nil {
			reasons[suite+e.Test] = found[1]
		}
		if strings.Contains(e.Test, "/") {
			continue
		}
		r.count(e, suite, reasons[suite+e.Test], failing)
	}
	if len(r.suites) == 0 {
		return r, errors.New("no suite ran")
	}
	slices.Sort(r.suites)
	slices.Sort(r.failed)
	slices.Sort(r.skipped)
	return r, nil
}

// count adds the end of a test or of a suite. failing contains the suites with a failed test.
func (r *report) count(e event, suite, reason string, failing map[string]bool) {
	ofSuite := e.Test == "" && suite != ""
	switch {
	case e.Action == "pass" && ofSuite:
		r.suites = append(r.suites, suite)
	case e.Action == "fail" && ofSuite:
		r.suites = append(r.suites, suite)
		if !failing[suite] {
			r.failed = append(r.failed, "the suite "+suite)
		}
	case e.Action == "pass" && e.Test != "":
		r.passed++
	case e.Action == "fail" && e.Test != "":
		r.failed = append(r.failed, e.Test)
		failing[suite] = true
	case e.Action == "skip" && e.Test != "":
		r.skipped = append(r.skipped, e.Test+": "+reason)
	}
}
