package page

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// The chart counts drift without viewers, once for the stream and the status. It names no release that has no
// HelmRelease on the page, and no author of one.
func TestTheChartCountsTheDayOfReleasesOnThePage(t *testing.T) {
	s := serve(t)
	happened := func(namespace, release, author string, ago time.Duration) v1alpha1.DriftRecord {
		record := v1alpha1.DriftRecord{Time: metav1.NewMicroTime(time.Now().Add(-ago)), FieldManager: author}
		s.Happened(&message.Message{Drift: &record,
			HelmRelease: &message.Reference{Namespace: namespace, Name: release},
			Release:     &message.Reference{Namespace: "apps", Name: release}})
		return record
	}
	record := happened("locker", "one", "jane", 0)
	happened("locker", "deleted", "mallory", 0)
	happened("elsewhere", "foreign", "trudy", 0)
	s.store.set("one", "me", func(hr *v1alpha1.HelmRelease) {
		past := v1alpha1.DriftRecord{Time: metav1.NewMicroTime(time.Now().Add(-time.Hour)), FieldManager: "bob"}
		hr.Status.RecentDrift = []v1alpha1.DriftRecord{record, past}
	})
	next := s.events()
	s.expect(next, "operator", "")
	s.expect(next, "release", "locker/one")
	chart := s.chartNow()
	text, err := encode("chart", chart)
	check.NoError(t, err)
	check.That(t,
		chart.Total == 2 && strings.Contains(text, "jane") && strings.Contains(text, "bob") &&
			strings.Contains(chart.Notes[0], "No stream"), "the chart is %s", text)
	for _, hidden := range []string{"deleted", "mallory", "foreign", "trudy"} {
		check.That(t, !strings.Contains(text, hidden), "%s is in %s", hidden, text)
	}
	s.Connected("me")
	note := s.chartNow().Notes[0]
	check.That(t, strings.HasPrefix(note, "Every change since "), "the note is %q", note)
}
