package cli

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/report"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// The chart of a report has the changes of its releases that their HelmReleases remember, and names no other release.
func TestTheChartOfAReportIsAboutItsReleases(t *testing.T) {
	remembers := func(name string, ago ...time.Duration) *v1alpha1.HelmRelease {
		return helmRelease(name, func(hr *v1alpha1.HelmRelease) {
			for _, d := range ago {
				hr.Status.RecentDrift = append(hr.Status.RecentDrift,
					v1alpha1.DriftRecord{Time: metav1.NewMicroTime(noon.Add(-d)), FieldManager: "kubectl-edit"})
			}
		})
	}
	locks := []*v1alpha1.HelmRelease{remembers("web", time.Hour, 2*time.Hour, 30*time.Hour), remembers("vault", time.Hour)}
	releases := []report.ReleaseDrift{{Namespace: "apps", Name: "web"}, {Namespace: "apps", Name: "calm"}}
	day := newReportDay(noon)
	if chart := day.chart(); chart != nil {
		t.Errorf("there is a chart of nothing: %+v", chart)
	}
	day.add("prod-1", releases, locks)
	day.add("prod-2", releases, append(locks, locks[0]))
	chart := day.chart()
	check.Must(t, chart != nil, "there is no chart")
	var names []string
	for _, r := range chart.Releases.Rows {
		names = append(names, r.Name)
	}
	got := strings.Join(names, ", ")
	check.That(t,
		got == "prod-1: apps/web, prod-2: apps/web" && chart.Total == 4 && len(chart.Notes) == 1 &&
			chart.Notes[0] == fromStatus, "%s: %+v", got, chart)
}
