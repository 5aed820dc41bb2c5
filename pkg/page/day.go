package page

import (
	"fmt"
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/history"
	"github.com/rancher/helm-locker/pkg/report"
)

// day is the drift of the last 24 hours for the chart, with and without viewers. The streams of operators fill it, and
// the status of a HelmRelease has the changes from before. Page.mu guards it.
type day struct {
	*history.Day
	// leases are the operators whose streams were read, and complete is the time from which on nothing is missing;
	// zero before the first connection.
	leases   map[string]bool
	complete time.Time
}

func newDay() day { return day{Day: history.New(), leases: map[string]bool{}} }

// add counts a drift that a stream reported.
func (d *day) add(now time.Time, of v1alpha1.ReleaseReference, r *v1alpha1.DriftRecord) {
	if change, ok := history.Of(of.String(), r); ok {
		d.Add(now, change)
	}
}

// remember counts the drift records of a HelmRelease that are not counted yet.
func (d *day) remember(now time.Time, hr *v1alpha1.HelmRelease) {
	for i := range hr.Status.RecentDrift {
		if change, ok := history.Of(hr.Spec.Release.String(), &hr.Status.RecentDrift[i]); ok {
			d.Remember(now, change)
		}
	}
}

// covers describes the changes that the chart has.
func (d *day) covers(now time.Time) string {
	switch {
	case d.complete.IsZero():
		return "No stream of an operator is read: the chart has the changes that the status of each release " +
			"remembers, ten at most."
	case now.Sub(d.complete) < history.Hours*time.Hour:
		return fmt.Sprintf("Every change since %s is counted; of those before, "+
			"the ones that operators and statuses still had then.", report.Time(d.complete))
	}
	return "Every change is counted."
}
