package controller

import (
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/events"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
)

// The names of a user and of its groups are text of others: they stay on their line.
func TestASenderIsNamedWithItsPod(t *testing.T) {
	for want, u := range map[string]authenticationv1.UserInfo{
		"alice":                               {Username: "alice"},
		"a\\nb":                               {Username: "a\nb"},
		"system:serviceaccount:a:b (Pod b-1)": {Username: "system:serviceaccount:a:b", Extra: map[string]authenticationv1.ExtraValue{podName: {"b-1"}}},
	} {
		if got := sender(&u); got != want {
			t.Errorf("the sender is %q, want %q", got, want)
		}
	}
	groups := groupsOf(&authenticationv1.UserInfo{Groups: []string{"web", "system:authenticated", "a\nb",
		"system:serviceaccounts", "system:serviceaccounts:apps", "system:masters", "1", "2", "3"}})
	if !slices.Equal(groups, []string{"web", `a\nb`, "system:masters", "1", "2"}) {
		t.Errorf("the groups are %q", groups)
	}
}

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
