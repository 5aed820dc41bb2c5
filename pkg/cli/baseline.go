package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/urfave/cli/v3"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/report"
)

const (
	baselineName      = "baseline"
	writeBaselineName = "write-baseline"
)

// baselineFlags are the flags for drift that is known already.
func baselineFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: baselineName, Category: categoryWhat, TakesFile: true,
			Usage: "leave out the drift in this `FILE`, so that only new drift is shown and sets the exit code"},
		&cli.BoolFlag{Name: writeBaselineName, Category: categoryOutput,
			Usage: "with --baseline: replace the drift of the compared releases in its file, and exit with 0"},
	}
}

// checkBaseline refuses --write-baseline without a file.
func checkBaseline(a *action) error {
	if a.cmd.Bool(writeBaselineName) && a.cmd.String(baselineName) == "" {
		return a.misused(errors.New("--write-baseline needs --baseline FILE"))
	}
	return nil
}

// baseline is the file of --baseline beside the drift of now.
type baseline struct {
	*action
	file string
	read *report.Baseline
	// now is the drift of the compared releases.
	now []report.BaselineRelease
	// whole has the contexts of which all releases of a namespace are compared, or of all when it is empty.
	whole map[string]string
}

// openBaseline reads the file of --baseline; nil without the flag. A file to be written need not exist.
func openBaseline(a *action) (*baseline, error) {
	file := a.cmd.String(baselineName)
	if file == "" {
		return nil, nil
	}
	b := &baseline{action: a, file: file, read: &report.Baseline{}, whole: map[string]string{}}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		if a.cmd.Bool(writeBaselineName) {
			return b, nil
		}
		return nil, command.Hinted(err, "--write-baseline writes the drift of now to that file")
	}
	if err != nil {
		return nil, err
	}
	if b.read, err = report.ReadBaseline(text); err != nil {
		return nil, command.Hinted(fmt.Errorf("%s: %w", file, err), "--write-baseline writes the drift of now to a new file")
	}
	return b, nil
}

// leaveOutAll removes known drift from the results of all contexts.
func (b *baseline) leaveOutAll(all []located[gathered]) {
	for _, l := range all {
		if l.read != nil {
			b.leaveOut(l.Name, l.read)
		}
	}
}

// leaveOut removes known drift from the results of a context, and counts its objects. A nil baseline knows none.
func (b *baseline) leaveOut(context string, found *gathered) {
	if b == nil {
		return
	}
	if !b.cmd.Args().Present() && b.cmd.String(selectorName) == "" && b.cmd.String("filename") == "" {
		b.whole[context] = found.namespace
	}
	found.known = map[release.Key]int{}
	for _, c := range found.comparisons {
		key := c.Release.Key
		known := b.read.Known(context, key.Namespace, key.Name)
		var now []report.BaselineObject
		var left []inspect.Difference
		for _, d := range c.Differences {
			entry := report.Entry(report.ObjectOf(d.ID), string(d.State), fieldChanges(&d, found.declared[key]))
			now = append(now, entry)
			changes, isNew := entry.New(known)
			if !isNew {
				found.known[key]++
				continue
			}
			all := d.Changes
			d.Changes = nil
			for _, i := range changes {
				d.Changes = append(d.Changes, all[i])
			}
			left = append(left, d)
		}
		c.Differences = left
		for _, failure := range c.Failures { // the object may have drifted as it had
			now = append(now, slices.DeleteFunc(slices.Clone(known), func(o report.BaselineObject) bool {
				return o.Object != report.ObjectOf(failure.ID)
			})...)
		}
		b.now = append(b.now, report.BaselineRelease{Context: context, Namespace: key.Namespace, Name: key.Name,
			Differences: now})
	}
	for _, f := range found.failed {
		b.now = append(b.now, report.BaselineRelease{Context: context, Namespace: f.key.Namespace, Name: f.key.Name,
			Differences: b.read.Known(context, f.key.Namespace, f.key.Name)})
	}
}

// finish lists the drift of the file that no longer occurs, and writes the file if the flags ask for that. It returns
// the error for the exit code; failed is that of the comparison.
func (b *baseline) finish(failed error) error {
	if b == nil {
		return failed
	}
	next := &report.Baseline{Releases: slices.Clone(b.now)}
	for _, r := range b.read.Releases {
		i := slices.IndexFunc(b.now, func(now report.BaselineRelease) bool { return now.Key() == r.Key() })
		switch {
		case i >= 0:
			b.noteGone(r, b.now[i].Differences)
		case b.selects(r): // it does not exist
			b.noteGone(r, nil)
		default: // another selection
			next.Releases = append(next.Releases, r)
		}
	}
	var exit *command.ExitError
	drifted := errors.As(failed, &exit) && exit.Code == command.ExitFound
	if !b.cmd.Bool(writeBaselineName) || failed != nil && !drifted {
		return failed
	}
	next.Releases = slices.DeleteFunc(next.Releases, func(r report.BaselineRelease) bool {
		return len(r.Differences) == 0
	})
	text, err := next.YAML()
	if err != nil {
		return err
	}
	if err := writeFile(b.file, text); err != nil {
		return err
	}
	objects := 0
	for _, r := range next.Releases {
		objects += len(r.Differences)
	}
	b.note("wrote %s: %s in %s", b.file, plain.Count(objects, "object"), plain.Count(len(next.Releases), "release"))
	return nil
}

// selects reports whether a release was among the compared ones, if it exists.
func (b *baseline) selects(r report.BaselineRelease) bool {
	namespace, whole := b.whole[r.Context]
	return whole && (namespace == "" || r.Namespace == namespace)
}

// noteGone prints the entries of a release that no longer occur.
func (b *baseline) noteGone(r report.BaselineRelease, now []report.BaselineObject) {
	for _, o := range r.Differences {
		for _, gone := range o.Gone(now) {
			b.note("note: no longer drift, though in %s: release %s, %s", b.file, r.Key(), gone)
		}
	}
}

func writeFile(name, text string) (err error) {
	file, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = io.WriteString(file, text)
	return err
}
