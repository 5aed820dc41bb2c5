package remediate

import (
	"strings"
	"testing"
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/events"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
)

// An object that was never seen under its lock is missing: nobody may have deleted it.
func TestAnObjectThatWasNeverSeenIsMissing(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	object := &lock.Object{Kind: &lock.Kind{}}
	for want, v := range map[string]*result{
		"missing": {Drift: events.Drift{Work: &lock.Work{Object: object, First: true}}},
		"deleted": {Drift: events.Drift{Work: &lock.Work{Object: object, First: true, Existed: true}}},
		"deleted by user alice": {Drift: events.Drift{
			Work:     &lock.Work{Object: object, Existed: true, Observation: lock.Observation{Seen: now}},
			Requests: []lock.Request{{User: "alice", At: now, Deletion: true}}}},
	} {
		v.Found.State = judge.Missing
		(&comparer{}).outcome(&lock.Lock{}, v)
		v.Attribute()
		r := v.Record(v.Portions()[0], v1alpha1.DriftActionReported, events.Life{})
		if v.Summary() != want || !strings.HasPrefix(want, strings.ToLower(string(r.Operation))) {
			t.Errorf("the summary is %q, and the operation %s, want %q", v.Summary(), r.Operation, want)
		}
	}
}
