package cli

import (
	"cmp"
	"context"
	"slices"
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/history"
	"github.com/rancher/helm-locker/pkg/report"
)

// driftOf returns the results as a report: by context, and in the order of the releases' names.
func driftOf(a *action, all []located[gathered]) (*report.Drift, error) {
	releases, host := []report.ReleaseDrift{}, ""
	day := newReportDay(a.now())
	for _, l := range all {
		if l.read == nil {
			continue
		}
		of, err := releasesOf(a, l.Name, l.read)
		if err != nil {
			return nil, err
		}
		releases = append(releases, of...)
		day.add(l.Name, of, l.read.locks)
		if l.Name == "" {
			host = l.read.host
		}
	}
	drift := report.NewDrift(a.now(), host, releases, contextsOf(all)...)
	drift.Day = day.chart()
	return drift, nil
}

// releasesOf returns the results of a context, in the order of the releases' names.
func releasesOf(a *action, context string, found *gathered) ([]report.ReleaseDrift, error) {
	releases := []report.ReleaseDrift{}
	for _, comparison := range found.comparisons {
		r, err := releaseDrift(comparison, found.declared[comparison.Release.Key], a.now())
		if err != nil {
			return nil, err
		}
		found.ratings.rate(&r, comparison)
		r.Known = found.known[comparison.Release.Key]
		releases = append(releases, r)
	}
	for _, f := range found.failed {
		releases = append(releases, report.ReleaseDrift{Namespace: f.key.Namespace, Name: f.key.Name,
			Differences: []report.ObjectDrift{}, Error: f.err.Error()})
	}
	for _, f := range found.leftOut {
		releases = append(releases, report.ReleaseDrift{Namespace: f.key.Namespace, Name: f.key.Name,
			Differences: []report.ObjectDrift{}, LeftOut: f.err.Error()})
	}
	slices.SortFunc(releases, func(x, y report.ReleaseDrift) int {
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
	})
	for i := range releases {
		r := &releases[i]
		if found.hidden != nil {
			r.Locked = report.LockedUnknown
		}
		r.Context = context
		for _, hr := range found.locks {
			if key := keyOf(hr); key.Namespace == r.Namespace && key.Name == r.Name {
				r.HelmRelease, r.Locked = hr.Namespace+"/"+hr.Name, report.LockState(hr, a.now())
			}
		}
	}
	return releases, nil
}

// reported returns the cluster of a report and the namespace of its releases; empty for all.
func reported(ctx context.Context, a *action) (*connection, string, error) {
	c, err := a.connect(ctx)
	if err != nil || a.cmd.Bool("all-namespaces") {
		return c, "", err
	}
	return c, a.onlyIn(c, a.cmd.String("namespace")), nil
}

// printReport prints a report, or with --output-file writes it there and prints its summary.
func printReport(a *action, text, summary string) error {
	if file := a.cmd.String("output-file"); file != "" {
		if err := writeFile(file, text); err != nil {
			return err
		}
		text = summary + "\n"
	}
	return a.write(text)
}

// fromStatus names the source of the chart of a report.
const fromStatus = "The changes are from status.recentDrift, which keeps the last ten changes of a release."

// reportDay collects the recorded drift of the releases of a report, for a chart of the last day.
type reportDay struct {
	now time.Time
	day *history.Day
}

func newReportDay(now time.Time) *reportDay { return &reportDay{now: now, day: history.New()} }

// add adds the drift records in the HelmReleases of a context's releases, and none of a release that is not in the
// report. A release that two HelmReleases name has each change once.
func (d *reportDay) add(context string, releases []report.ReleaseDrift, locks []*v1alpha1.HelmRelease) {
	head := ""
	if context != "" {
		head = context + ": "
	}
	shown := map[string]bool{}
	for i := range releases {
		shown[releases[i].Key()] = true
	}
	for _, hr := range locks {
		name := hr.Spec.Release.String()
		for i := range hr.Status.RecentDrift {
			if change, ok := history.Of(head+name, &hr.Status.RecentDrift[i]); ok && shown[name] {
				d.day.Remember(d.now, change)
			}
		}
	}
}

// chart returns the chart; nil without a change.
func (d *reportDay) chart() *history.Chart {
	chart := d.day.Chart(d.now, func(string) bool { return true })
	if chart != nil {
		chart.Notes = append(chart.Notes, fromStatus)
	}
	return chart
}
