package policy

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// failures are the ways in which a request may fail at any time: two with an answer, and two without.
var failures = []struct {
	name string
	act  cluster.Action
}{
	{"401", cluster.Fail(http.StatusUnauthorized, "on purpose")},
	{"500", cluster.Fail(http.StatusInternalServerError, "on purpose")},
	{"connection lost", cluster.Drop()},
	{"answer lost", cluster.DropAnswer()},
}

// Each of an operator's requests from its start until everything is locked fails once, in two of the four ways.
// Everything is locked nevertheless, and the operator does not end by itself once it manages HelmReleases.
func TestI5_AnyRequestOfAStartMayFail(t *testing.T) {
	t.Parallel()
	requests := startWithFailure(t, 0, cluster.Forward())
	check.Must(t, requests >= 20, "an operator starts with %d requests: that cannot be all", requests)
	for n := 1; n <= requests; n++ {
		for _, how := range []int{n % 2, 2 + n%2} {
			t.Run(fmt.Sprintf("request %d: %s", n, failures[how].name), func(t *testing.T) {
				t.Parallel()
				startWithFailure(t, n, failures[how].act)
			})
		}
	}
}

// startWithFailure starts an operator with one release locked by hand, and one locked by a policy, and makes the nth
// request fail. It returns the number of requests until both are locked.
func startWithFailure(t *testing.T, n int, act cluster.Action) int {
	t.Helper()
	f := notStarted(t)
	f.deploy("mine", nil)
	f.deploy("theirs", nil)
	f.create("all", `{match: {namespaces: [APPS], releases: [theirs]}}`)
	f.CreateHelmRelease("mine")
	var count atomic.Int32
	f.Proxy.Intercept(func(r *http.Request) cluster.Action {
		if int(count.Add(1)) != n {
			return cluster.Forward()
		}
		t.Logf("it fails: %s %s", r.Method, r.URL)
		return act
	})
	var managing atomic.Bool
	ended := func(err error) {
		t.Logf("it ended by itself: %v", err)
		check.That(t, !managing.Load(), "that was after its start")
	}
	f.Running = kit.Supervise(t, f.Proxy.RESTConfig(), f.Operator, ended)
	kit.SupervisePolicies(t, f.Proxy.RESTConfig(), f.Operator, ended)
	f.Until("it manages HelmReleases", func() (any, bool) {
		// The policy may have made its HelmRelease by then.
		log := f.Running.Log()
		managing.Store(strings.Contains(log, "managing 1 HelmRelease") || strings.Contains(log, "managing 2 HelmReleases"))
		return "not yet", managing.Load()
	})
	f.WaitReady("mine", 1)
	f.waitLocked(f.name("theirs"))
	if int(count.Load()) < n {
		t.Log("it was locked with fewer requests this time")
	}
	return int(count.Load())
}
