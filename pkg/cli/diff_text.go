package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/report"
)

// diffShown is how differences are shown.
type diffShown struct {
	format string
	// context names the cluster of several; empty for one.
	context string
	now     time.Time
	style   report.Style
	// several is set for a command about several releases. brief only counts those without drift.
	several, brief bool
}

// output returns the differences in all contexts, and totals.
func (o diffShown) output(all []located[gathered]) (string, error) {
	var b strings.Builder
	for _, l := range all {
		if l.read == nil {
			continue
		}
		o.context = l.Name
		if err := o.releases(&b, l.read); err != nil {
			return "", err
		}
	}
	total := summaryOf(all)
	total.In(contextsOf(all))
	if o.format != formatText || !o.several || total.Releases+total.Contexts == 0 {
		return b.String(), nil
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	for i := range all {
		if l := &all[i]; l.read != nil && l.Name != "" {
			b.WriteString(plain.Line(l.Name) + ": " + o.total(summaryOf(all[i:i+1])) + "\n")
		}
	}
	b.WriteString(o.total(total) + "\n")
	return b.String(), nil
}

// total returns totals in words, in the colour of the result.
func (o diffShown) total(s report.Summary) string {
	if s.Drifted > 0 || s.Unread > 0 {
		return o.style.Red(s.String())
	}
	return o.style.Green(s.String())
}

// releases writes the differences of the releases of one cluster.
func (o diffShown) releases(b *strings.Builder, found *gathered) error {
	for _, c := range found.comparisons {
		if o.brief && !hasDrifted(c) && !isIncomplete(c) && c.Additions == 0 {
			continue
		}
		if b.Len() > 0 && o.format == formatText {
			b.WriteByte('\n')
		}
		for j := range c.Differences {
			render := o.difference
			if o.format == formatPatch {
				render = o.patch
			}
			text, err := render(found.ratings, c, &c.Differences[j])
			if err != nil {
				return err
			}
			b.WriteString(text)
		}
		if o.format == formatText {
			b.WriteString(o.head() + summaryLine(c, found.known[c.Release.Key], o.style) + "\n")
		}
	}
	return nil
}

// head is the beginning of a line about a cluster of several; empty for one cluster.
func (o diffShown) head() string {
	if o.context == "" {
		return ""
	}
	return plain.Line(o.context) + ": "
}

// summaryOf returns the totals of the gathered releases.
func summaryOf(all []located[gathered]) (s report.Summary) {
	for _, l := range all {
		g := l.read
		if g == nil {
			continue
		}
		s.Releases += len(g.comparisons) + len(g.failed)
		s.Incomplete += len(g.failed)
		s.LeftOut += len(g.leftOut)
		for _, c := range g.comparisons {
			if hasDrifted(c) {
				s.Drifted++
			}
			if isIncomplete(c) {
				s.Incomplete++
			}
			s.Known += g.known[c.Release.Key]
		}
	}
	return s
}

// summaryLine is the last line about a release. known counts the objects with known drift.
func summaryLine(c *inspect.Comparison, known int, style report.Style) string {
	head := fmt.Sprintf("release %s, revision %d: ", c.Release.Key, c.Release.Revision)
	incomplete := ""
	if n := len(c.Failures); n > 0 {
		incomplete = fmt.Sprintf("; %s could not be compared", plain.Count(n, "object"))
	}
	beside := ""
	if known > 0 {
		beside = "; " + report.Known(known)
	}
	if c.Additions > 0 {
		beside += style.Yellow("; " + report.Additions(c.Additions) + " (see --strict)")
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
		return plain.Line(head) + style.Green(fmt.Sprintf("no drift, %s compared", plain.Count(c.Compared, "object"))) + beside
	case n == 0:
		return plain.Line(head) + style.Yellow(fmt.Sprintf("no drift in %s%s", plain.Count(c.Compared, "object"),
			incomplete)) + beside
	default:
		return plain.Line(head) + style.Red(fmt.Sprintf("%d of %s drifted (%s)%s", n,
			plain.Count(c.Compared, "object"), kinds, incomplete)) + beside
	}
}

// difference describes a drifted object: the changes, their severity, authors and times, and the diff.
func (o diffShown) difference(rated ratings, c *inspect.Comparison, d *inspect.Difference) (string, error) {
	var b strings.Builder
	style := o.style
	fmt.Fprintln(&b, o.head()+style.Bold(plain.Line(d.ID.String()))+": "+style.Yellow(plain.Line(whatDiffers(d))))
	fmt.Fprintln(&b, style.Dim(plain.Line("  "+rated.of(d).String())))
	if len(d.Changes) == 0 {
		b.WriteByte('\n')
		return b.String(), nil
	}
	for _, line := range inspect.Blame(d.Changes, o.now) {
		fmt.Fprintln(&b, style.Dim(plain.Line("  "+line)))
	}
	to := "cluster"
	if o.context != "" {
		to = "context " + o.context
	}
	diff, err := unified(d, fmt.Sprintf("release %s, revision %d", c.Release.Key, c.Release.Revision), to, style)
	if err != nil {
		return "", err
	}
	b.WriteString(diff + "\n")
	return b.String(), nil
}

// whatDiffers describes a difference in a few words.
func whatDiffers(d *inspect.Difference) string {
	switch {
	case d.Note != "":
		return d.Note
	case d.State == inspect.StateMissing:
		return "it does not exist"
	}
	return inspect.Describe(d.Changes, 3)
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

// patch returns differencePatch; of several clusters the paths begin with the context.
func (o diffShown) patch(_ ratings, _ *inspect.Comparison, d *inspect.Difference) (string, error) {
	return differencePatch(o.context, d)
}

// differencePatch returns a unified diff from the declared to the live object, for other programs.
func differencePatch(context string, d *inspect.Difference) (string, error) {
	parts := slices.DeleteFunc([]string{context, d.ID.Namespace, d.ID.Kind, d.ID.Group, d.ID.Name},
		func(s string) bool { return s == "" })
	path := strings.Join(parts, "/") + ".yaml"
	to := "b/" + path
	if d.State == inspect.StateMissing {
		to = "/dev/null"
	}
	return unified(d, "a/"+path, to, report.Style{})
}

// releaseDrift returns a comparison for programs and documents.
func releaseDrift(
	c *inspect.Comparison, declared []manifest.Object, now time.Time,
) (report.ReleaseDrift, error) {
	out := report.ReleaseDrift{
		Name: c.Release.Name, Namespace: c.Release.Namespace, Revision: c.Release.Revision,
		Status: string(c.Release.Status), Compared: c.Compared, Differences: []report.ObjectDrift{},
		Additions: c.Additions, NotCompared: c.Left, ComparedLocally: c.Local,
	}
	for i := range c.Differences {
		d := &c.Differences[i]
		diff, err := differencePatch("", d)
		if err != nil {
			return out, err
		}
		object := report.ObjectDrift{
			Object: report.ObjectOf(d.ID), State: string(d.State), Note: d.Note, Diff: diff, What: whatDiffers(d),
		}
		if len(d.Changes) > 0 {
			object.Blame = inspect.Blame(d.Changes, now)
		}
		object.Changes = fieldChanges(d, declared)
		for _, change := range d.Refused {
			object.Refused = append(object.Refused, change.Path)
		}
		out.Differences = append(out.Differences, object)
	}
	for _, failure := range c.Failures {
		out.Failures = append(out.Failures, report.ObjectFailure{
			Object: report.ObjectOf(failure.ID), Error: failure.Err.Error(),
		})
	}
	return out, nil
}

// fieldChanges returns the changes of an object for programs. declared are the objects of its release.
func fieldChanges(d *inspect.Difference, declared []manifest.Object) (out []report.FieldChange) {
	for _, change := range d.Changes {
		author := change.Author
		field := report.FieldChange{
			Path: change.Path, Operation: change.Op, Manager: author.Manager, ManagedBy: author.Operation,
			Subresource: author.Subresource, Time: report.Time(author.Time),
		}
		field.Live, field.Declared, _ = valuesOf(declared, d, change.Change)
		out = append(out, field)
	}
	return out
}
