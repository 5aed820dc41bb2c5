package cli

import (
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/history"
	"github.com/rancher/helm-locker/pkg/report"
)

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
