package report

import (
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/rancher/helm-locker/pkg/plain"
)

// The elements that Jenkins and GitLab read. Jenkins treats the part of a class name before its last dot as the
// package.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name      string      `xml:"name,attr"`
		Tests     int         `xml:"tests,attr"`
		Failures  int         `xml:"failures,attr"`
		Errors    int         `xml:"errors,attr"`
		Skipped   int         `xml:"skipped,attr"`
		Timestamp string      `xml:"timestamp,attr"`
		Cases     []junitCase `xml:"testcase"`
	}
	junitCase struct {
		ClassName string       `xml:"classname,attr"`
		Name      string       `xml:"name,attr"`
		Failure   *junitResult `xml:"failure"`
		Error     *junitResult `xml:"error"`
		Skipped   *junitResult `xml:"skipped"`
		Output    string       `xml:"system-out,omitempty"`
	}
	junitResult struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",cdata"`
	}
)

// JUnit returns the report as JUnit XML, with a suite for each namespace and a test for each release. A drifted release
// is a failure, an incompletely compared one an error, and one with nothing deployed is skipped. Additions alone fail
// no test: they are in its output. With several clusters the names begin with that of the context, and a context with
// an error has a suite with that error.
func (d *Drift) JUnit() (string, error) {
	all := junitSuites{Name: "helm-locker"}
	stamp := strings.TrimSuffix(d.Time, "Z")
	for _, c := range d.Contexts {
		if c.Error != "" {
			all.Suites = append(all.Suites, c.suite(stamp))
		}
	}
	for i := range d.Releases {
		r := &d.Releases[i]
		name, class := r.Namespace, "helm-locker."+r.Namespace
		if of := plain.Line(r.Context); of != "" {
			name, class = of+"/"+r.Namespace, "helm-locker."+of+"."+r.Namespace
		}
		if n := len(all.Suites); n == 0 || all.Suites[n-1].Name != name {
			all.Suites = append(all.Suites, junitSuite{Name: name, Timestamp: stamp})
		}
		suite := &all.Suites[len(all.Suites)-1]
		test := junitCase{ClassName: class, Name: r.Name}
		result := &junitResult{Message: plain.Line(r.Result()), Text: r.text()}
		switch {
		case r.LeftOut != "":
			result.Message, result.Text = plain.Line(r.LeftOut), ""
			test.Skipped = result
			suite.Skipped++
		case r.Incomplete():
			result.Type = "NotCompared"
			test.Error = result
			suite.Errors++
		case len(r.Differences) > 0:
			result.Type = "Drift"
			test.Failure = result
			suite.Failures++
		case r.Additions > 0:
			test.Output = plain.Line(r.Result())
		}
		suite.Tests++
		suite.Cases = append(suite.Cases, test)
	}
	for _, suite := range all.Suites {
		all.Tests += suite.Tests
		all.Failures += suite.Failures
		all.Errors += suite.Errors
	}
	text, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return "", fmt.Errorf("encode as JUnit XML: %w", err)
	}
	return xml.Header + string(text) + "\n", nil
}

// suite returns a suite with the error of a context.
func (c Context) suite(stamp string) junitSuite {
	name := plain.Line(c.Name)
	return junitSuite{Name: name, Tests: 1, Errors: 1, Timestamp: stamp, Cases: []junitCase{{
		ClassName: "helm-locker." + name, Name: "context",
		Error: &junitResult{Message: plain.Line(c.Error), Type: "Context"},
	}}}
}

// text returns the error, the failures and the differences of a release.
func (r *ReleaseDrift) text() string {
	var b strings.Builder
	if r.Error != "" {
		fmt.Fprintln(&b, plain.Line(r.Error))
	}
	for _, failure := range r.Failures {
		fmt.Fprintln(&b, plain.Line("not compared: "+failure.Object.String()+": "+failure.Error))
	}
	for i := range r.Differences {
		o := &r.Differences[i]
		fmt.Fprintln(&b, plain.Line(o.Object.String()+": "+o.What))
		for _, line := range o.Blame {
			fmt.Fprintln(&b, "  "+plain.Line(line))
		}
		b.WriteString(plain.Block(o.Diff))
	}
	return b.String()
}
