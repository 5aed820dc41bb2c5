package cli

import (
	"fmt"
	"os"
	"slices"

	"github.com/urfave/cli/v3"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/report"
	"github.com/rancher/helm-locker/pkg/severity"
)

const (
	exitCodeName   = "exit-code"
	failOnName     = "fail-on"
	severitiesName = "severities"
)

// severityFlags are the flags for the severity of drift, and for its exit code.
func severityFlags() []cli.Flag {
	return []cli.Flag{
		command.OneOf(&cli.StringFlag{Name: failOnName, Category: categoryOutput, Value: string(severity.Low),
			Usage: "exit with 2 only for drift of this `SEVERITY` or above: low, medium or high"}, severity.Levels()...),
		&cli.BoolFlag{Name: exitCodeName, Category: categoryOutput, Value: true,
			Usage: "exit with 2 for drift; with --exit-code=false drift is no failure, and errors are"},
		&cli.StringFlag{Name: severitiesName, Category: categoryWhat, TakesFile: true,
			Usage: "rate drift by the rules in this `FILE` instead of the built-in ones"},
	}
}

// ratings rate drift for a command.
type ratings struct {
	table  *severity.Table
	failOn severity.Level
	// exits is whether drift sets the exit code.
	exits bool
}

// ratingsOf returns the ratings by the flags of a command.
func ratingsOf(a *action) (ratings, error) {
	r := ratings{failOn: severity.Level(a.cmd.String(failOnName)), exits: a.cmd.Bool(exitCodeName)}
	file := a.cmd.String(severitiesName)
	if file == "" {
		table, err := severity.Default()
		r.table = table
		return r, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return r, err
	}
	if r.table, err = severity.Read(text); err != nil {
		return r, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

// rating is the severity of a difference with the reason, which may be empty.
type rating struct {
	severity.Level
	reason string
}

// String returns the rating in words, such as "severity high: who may do what".
func (r rating) String() string {
	text := "severity " + string(r.Level)
	if r.reason != "" {
		text += ": " + r.reason
	}
	return text
}

// change rates one change. Where only the owner of a field differs, the severity is low.
func (r ratings) change(object severity.Object, change drift.Change) rating {
	if change.Op == drift.Shared {
		return rating{severity.Low, "the value is as declared"}
	}
	level, reason := r.table.Of(object, change.Path)
	return rating{level, reason}
}

// of rates a difference by its most severe change, and one without changes as a change of the whole object.
func (r ratings) of(d *inspect.Difference) rating {
	object := severity.Object{Group: d.ID.Group, Kind: d.ID.Kind}
	if len(d.Changes) == 0 {
		return r.change(object, drift.Change{Op: drift.Removed})
	}
	var highest rating
	for _, change := range d.Changes {
		if rated := r.change(object, change.Change); !highest.AtLeast(rated.Level) {
			highest = rated
		}
	}
	return highest
}

// fails reports whether a comparison has drift that sets the exit code.
func (r ratings) fails(c *inspect.Comparison) bool {
	return r.exits &&
		slices.ContainsFunc(c.Differences, func(d inspect.Difference) bool { return r.of(&d).AtLeast(r.failOn) })
}

// rate adds the severities to the report of a comparison.
func (r ratings) rate(out *report.ReleaseDrift, c *inspect.Comparison) {
	for i := range c.Differences {
		d, object := &c.Differences[i], &out.Differences[i]
		rated := r.of(d)
		object.Severity, object.SeverityReason = string(rated.Level), rated.reason
		object.Blame = append([]string{rated.String()}, object.Blame...)
		for j, change := range d.Changes {
			object.Changes[j].Severity = string(r.change(severity.Object{Group: d.ID.Group, Kind: d.ID.Kind},
				change.Change).Level)
		}
	}
}
