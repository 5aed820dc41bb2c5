package remediate

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/events"
	"github.com/rancher/helm-locker/pkg/lock"
)

func TestAnAdditionCountsAsItsParentInAFight(t *testing.T) {
	v := &result{Drift: events.Drift{Work: &lock.Work{
		Observation: lock.Observation{Live: &unstructured.Unstructured{}}}}}
	v.Found.Changes = []drift.Change{{Path: "/data/a", Op: drift.Modified}, {Path: "/data/x1", Op: drift.Added},
		{Path: "/data/x2", Op: drift.Added}, {Path: "/top", Op: drift.Added}}
	if got := v.contested(); !slices.Equal(got, []string{"", "/data", "/data/a"}) {
		t.Errorf("%q", got)
	}
	v.Live = nil
	if got := v.contested(); !slices.Equal(got, []string{""}) {
		t.Errorf("a deletion has the paths %q", got)
	}
}
