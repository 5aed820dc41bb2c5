package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/report"
)

func diffOutput(comparisons []*inspect.Comparison, format string, now time.Time, style report.Style) (string, error) {
	if format == formatJSON || format == formatYAML {
		return diffData(comparisons, format)
	}
	var b strings.Builder
	for i, c := range comparisons {
		if i > 0 && format == formatText {
			b.WriteByte('\n')
		}
		for j := range c.Differences {
			render := differenceText
			if format == formatPatch {
				render = differencePatch
			}
			text, err := render(c, &c.Differences[j], now, style)
			if err != nil {
				return "", err
			}
			b.WriteString(text)
		}
		if format == formatText {
			b.WriteString(summaryLine(c, style) + "\n")
		}
	}
	return b.String(), nil
}

// summaryLine is the last line about a release.
func summaryLine(c *inspect.Comparison, style report.Style) string {
	head := fmt.Sprintf("release %s, revision %d: ", c.Release.Key, c.Release.Revision)
	incomplete := ""
	if n := len(c.Failures); n > 0 {
		incomplete = fmt.Sprintf("; %s could not be compared", report.Count(n, "object"))
	}
	additions := ""
	if c.Additions > 0 {
		additions = style.Yellow("; " + report.Additions(c.Additions))
	}
	states := map[inspect.State]int{}
	for _, d := range c.Differences {
		states[d.State]++
	}
	kinds := fmt.Sprintf("%d modified, %d missing", states[inspect.StateModified], states[inspect.StateMissing])
	if n := states[inspect.StateDeleting]; n > 0 {
		kinds += fmt.Sprintf(", %d being deleted", n)
	}
	switch n := len(c.Differences); {
	case n == 0 && incomplete == "":
		return report.Line(head) + style.Green(fmt.Sprintf("no drift, %s compared", report.Count(c.Compared, "object"))) + additions
	case n == 0:
		return report.Line(head) + style.Yellow(fmt.Sprintf("no drift in %s%s", report.Count(c.Compared, "object"),
			incomplete)) + additions
	default:
		return report.Line(head) + style.Red(fmt.Sprintf("%d of %s drifted (%s)%s", n,
			report.Count(c.Compared, "object"), kinds, incomplete)) + additions
	}
}

// differenceText describes an object that differs: what, who and when, and the diff.
func differenceText(c *inspect.Comparison, d *inspect.Difference, now time.Time, style report.Style) (string, error) {
	var b strings.Builder
	title := func(what string) {
		fmt.Fprintln(&b, style.Bold(report.Line(d.ID.String()))+": "+style.Yellow(report.Line(what)))
	}
	if d.State == inspect.StateMissing {
		what := "it does not exist"
		if d.Note != "" {
			what = d.Note
		}
		title(what)
		b.WriteByte('\n')
		return b.String(), nil
	}
	if d.Note != "" {
		title(d.Note)
	} else {
		title(inspect.Describe(d.Changes, 3))
	}
	if len(d.Changes) == 0 {
		b.WriteByte('\n')
		return b.String(), nil
	}
	for _, line := range inspect.Blame(d.Changes, now) {
		fmt.Fprintln(&b, style.Dim(report.Line("  "+line)))
	}
	diff, err := unified(d, fmt.Sprintf("release %s, revision %d", c.Release.Key, c.Release.Revision), "cluster", style)
	if err != nil {
		return "", err
	}
	b.WriteString(diff + "\n")
	return b.String(), nil
}

func unified(d *inspect.Difference, from, to string, style report.Style) (string, error) {
	want, err := report.YAML(d.Want)
	if err != nil {
		return "", err
	}
	have, err := report.YAML(d.Have)
	if err != nil {
		return "", err
	}
	return report.Unified(from, to, want, have, style)
}

// differencePatch returns a unified diff from what the release declares to what is there, for other programs.
func differencePatch(_ *inspect.Comparison, d *inspect.Difference, _ time.Time, _ report.Style) (string, error) {
	parts := slices.DeleteFunc([]string{d.ID.Namespace, d.ID.Kind, d.ID.Group, d.ID.Name},
		func(s string) bool { return s == "" })
	path := strings.Join(parts, "/") + ".yaml"
	to := "b/" + path
	if d.State == inspect.StateMissing {
		to = "/dev/null"
	}
	return unified(d, "a/"+path, to, report.Style{})
}

// comparisonOut is a comparison as JSON or YAML. Its fields are part of the command's interface.
type comparisonOut struct {
	Name        string          `json:"name"`
	Namespace   string          `json:"namespace"`
	Revision    int             `json:"revision"`
	Status      string          `json:"status"`
	Compared    int             `json:"compared"`
	Differences []differenceOut `json:"differences"`
	// Additions is how many objects have additions of others, which scope Declared leaves alone.
	Additions   int          `json:"additions,omitempty"`
	Failures    []failureOut `json:"failures,omitempty"`
	NotCompared []string     `json:"notCompared,omitempty"`
	// ComparedLocally says why the API server did not help to tell drift from what it makes of values.
	ComparedLocally string `json:"comparedLocally,omitempty"`
}

type differenceOut struct {
	objectOut
	State   inspect.State `json:"state"`
	Note    string        `json:"note,omitempty"`
	Changes []changeOut   `json:"changes,omitempty"`
	Diff    string        `json:"diff,omitempty"`
}

type changeOut struct {
	Path        string          `json:"path"`
	Operation   drift.Operation `json:"operation"`
	Manager     string          `json:"manager,omitempty"`
	ManagedBy   string          `json:"managerOperation,omitempty"`
	Subresource string          `json:"subresource,omitempty"`
	Time        string          `json:"time,omitempty"`
}

type failureOut struct {
	objectOut
	Error string `json:"error"`
}

func diffData(comparisons []*inspect.Comparison, format string) (string, error) {
	all := make([]comparisonOut, 0, len(comparisons))
	for _, c := range comparisons {
		out := comparisonOut{
			Name: c.Release.Name, Namespace: c.Release.Namespace, Revision: c.Release.Revision,
			Status:   string(c.Release.Status),
			Compared: c.Compared, Differences: []differenceOut{}, Additions: c.Additions, NotCompared: c.Left, ComparedLocally: c.Local,
		}
		for i := range c.Differences {
			d := &c.Differences[i]
			diff, err := differencePatch(c, d, time.Time{}, report.Style{})
			if err != nil {
				return "", err
			}
			difference := differenceOut{objectOut: objectOf(d.ID), State: d.State, Note: d.Note, Diff: diff}
			for _, change := range d.Changes {
				author := change.Author
				difference.Changes = append(difference.Changes, changeOut{
					Path: change.Path, Operation: change.Op, Manager: author.Manager, ManagedBy: author.Operation,
					Subresource: author.Subresource, Time: report.Time(author.Time),
				})
			}
			out.Differences = append(out.Differences, difference)
		}
		for _, failure := range c.Failures {
			out.Failures = append(out.Failures, failureOut{objectOf(failure.ID), failure.Err.Error()})
		}
		all = append(all, out)
	}
	return encode(all, format)
}
