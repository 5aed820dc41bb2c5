package controller

import (
	"maps"
	"slices"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/pkg/release"
)

func TestTheLogOfADriftHasNoEmptyFields(t *testing.T) {
	object := &lock.Object{ID: manifest.ID{Kind: "ConfigMap", Namespace: "apps", Name: "web"}}
	changed := &result{Work: &lock.Work{Object: object}, operation: v1alpha1.DriftModified,
		authors: []drift.Attribution{{Author: drift.Author{Manager: "kubectl"},
			Changes: []drift.Change{{Path: "/data/key"}}}}}
	second := life{time.Second, v1alpha1.DriftSinceObserved}
	deleted := &result{Work: &lock.Work{Object: object}, operation: v1alpha1.DriftDeleted}
	for name, tc := range map[string]struct {
		of    *result
		lived life
		want  []string
	}{
		"changed": {changed, second,
			[]string{"lived", "manager", "object", "operation", "paths", "release", "since"}},
		"deleted":           {deleted, second, []string{"lived", "object", "operation", "release", "since"}},
		"only reported":     {changed, life{}, []string{"manager", "object", "operation", "paths", "release"}},
		"reported deletion": {deleted, life{}, []string{"object", "operation", "release"}},
	} {
		fields := tc.of.portions()[0].logged(&lock.Lock{}, object.ID, tc.lived)
		if got := slices.Sorted(maps.Keys(fields)); !slices.Equal(got, tc.want) {
			t.Errorf("%s: logged %v, want %v", name, got, tc.want)
		}
	}
}

// I12: drift without end in one namespace uses up the events of that namespace only.
func TestEventsOfNamespacesAreApart(t *testing.T) {
	rep := newReporter(&common{Options: Options{Clock: clocktesting.NewFakeClock(time.Unix(0, 0))}})
	in := func(namespace string) *lock.Lock {
		return &lock.Lock{Release: release.Key{Namespace: namespace, Name: "shop"}}
	}
	recorded := 0
	for range 10 * eventBurst {
		if rep.mayRecord(in("hostile")) {
			recorded++
		}
	}
	if recorded != eventBurst || !rep.mayRecord(in("apps")) {
		t.Errorf("%d events of one namespace, and then none of another", recorded)
	}
}

// sentMessages keeps messages.
type sentMessages []*message.Message

func (s *sentMessages) Send(m *message.Message) { *s = append(*s, m) }

// A revert ends after the lead of its operator: no other one can report it.
func TestTheLastRevertOfALeaderIsSent(t *testing.T) {
	var sent sentMessages
	rep := newReporter(&common{Options: Options{Clock: clocktesting.NewFakeClock(time.Unix(0, 0)), Notify: &sent}})
	rep.leading.Store(false)
	rep.sendDrift(&lock.Lock{Key: "locker/shop", Release: release.Key{Namespace: "apps", Name: "shop"}},
		&v1alpha1.DriftRecord{Action: v1alpha1.DriftActionReverted})
	if len(sent) != 1 || sent[0].Drift == nil {
		t.Errorf("sent %v", sent)
	}
}
