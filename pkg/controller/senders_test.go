package controller

import (
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
)

func TestADriftIsOfTheRequestsThatFit(t *testing.T) {
	seen := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	hourAgo := metav1.NewTime(seen.Add(-time.Hour))
	changed := func(path string, at *metav1.Time) portion {
		p := portion{operation: v1alpha1.DriftModified}
		p.Changes = []drift.Change{{Path: path, Op: drift.Modified}}
		if at != nil {
			p.Time = at.Time
		}
		return p
	}
	deleted := portion{operation: v1alpha1.DriftDeleted}
	request := func(user string, before time.Duration, paths ...string) lock.Request {
		return lock.Request{User: user, At: seen.Add(-before), Paths: paths}
	}
	deletion := func(user string) lock.Request { return lock.Request{User: user, At: seen, Deletion: true} }
	for name, test := range map[string]struct {
		p        portion
		requests []lock.Request
		want     string
	}{
		"none":              {changed("/a", nil), nil, ""},
		"one":               {changed("/a", nil), []lock.Request{request("alice", 0, "/b", "/a")}, "alice"},
		"another path":      {changed("/a", nil), []lock.Request{request("alice", 0, "/b")}, ""},
		"any path":          {changed("/a", nil), []lock.Request{request("alice", 0)}, "alice"},
		"several":           {changed("/a", nil), []lock.Request{request("b", 0, "/a"), request("a", 1, "/a"), request("b", 2)}, "a or b"},
		"long before":       {changed("/a", nil), []lock.Request{request("alice", 6*time.Second, "/a")}, ""},
		"missed by a watch": {changed("/a", &hourAgo), []lock.Request{request("alice", time.Hour, "/a")}, "alice"},
		"a deletion":        {deleted, []lock.Request{deletion("alice"), request("bob", 0)}, "alice"},
		"only a change":     {deleted, []lock.Request{request("bob", 0)}, ""},
		"only a deletion":   {changed("/a", nil), []lock.Request{deletion("alice")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range test.requests {
				test.requests[i].Groups = []string{test.requests[i].User + "s"}
			}
			users, groups := test.p.senders(test.requests, seen)
			if got := strings.Join(users, " or "); got != test.want {
				t.Errorf("the senders are %q, want %q", got, test.want)
			}
			if len(users) == 1 && !slices.Equal(groups, []string{users[0] + "s"}) || len(users) != 1 && groups != nil {
				t.Errorf("the groups of %q are %q", users, groups)
			}
		})
	}
}

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
		"missing": {Work: &lock.Work{Object: object, First: true}},
		"deleted": {Work: &lock.Work{Object: object, First: true, Existed: true}},
		"deleted by user alice": {Work: &lock.Work{Object: object, Existed: true, Observation: lock.Observation{Seen: now}},
			requests: []lock.Request{{User: "alice", At: now, Deletion: true}}},
	} {
		v.found.State = judge.Missing
		(&comparer{}).outcome(&lock.Lock{}, v)
		v.attribute()
		r := driftRecord(v, v.portions()[0], v1alpha1.DriftActionReported, life{})
		if v.summary() != want || !strings.HasPrefix(want, strings.ToLower(string(r.Operation))) {
			t.Errorf("the summary is %q, and the operation %s, want %q", v.summary(), r.Operation, want)
		}
	}
}
