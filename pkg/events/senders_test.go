package events

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestADriftIsOfTheRequestsThatFit(t *testing.T) {
	seen := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	hourAgo := metav1.NewTime(seen.Add(-time.Hour))
	changed := func(path string, at *metav1.Time) Portion {
		p := Portion{Did: v1alpha1.DriftModified}
		p.Changes = []drift.Change{{Path: path, Op: drift.Modified}}
		if at != nil {
			p.Time = at.Time
		}
		return p
	}
	deleted := Portion{Did: v1alpha1.DriftDeleted}
	request := func(user string, before time.Duration, paths ...string) lock.Request {
		return lock.Request{User: user, At: seen.Add(-before), Paths: paths}
	}
	deletion := func(user string) lock.Request { return lock.Request{User: user, At: seen, Deletion: true} }
	for name, test := range map[string]struct {
		p        Portion
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
			check.Equal(t, strings.Join(users, " or "), test.want, "the senders")
			check.That(t,
				(len(users) != 1 || slices.Equal(groups, []string{users[0] + "s"})) &&
					(len(users) == 1 || groups == nil),
				"the groups of %q are %q", users, groups)
		})
	}
}
