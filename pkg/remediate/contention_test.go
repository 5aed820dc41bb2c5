package remediate

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/events"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestAnAdditionCountsAsItsParentInAFight(t *testing.T) {
	v := &result{Drift: events.Drift{Work: &lock.Work{
		Observation: lock.Observation{Live: &unstructured.Unstructured{}}}}}
	v.Found.Changes = []drift.Change{{Path: "/data/a", Op: drift.Modified}, {Path: "/data/x1", Op: drift.Added},
		{Path: "/data/x2", Op: drift.Added}, {Path: "/top", Op: drift.Added}}
	got := v.contested()
	check.That(t, slices.Equal(got, []string{"", "/data", "/data/a"}), "%q", got)
	v.Live = nil
	got = v.contested()
	check.That(t, slices.Equal(got, []string{""}), "a deletion has the paths %q", got)
}
