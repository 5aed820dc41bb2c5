package locking

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/watch"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func testRelist() *relist { return newRelist(&Options{Clock: clock.RealClock{}}) }

// A list waits for releases that are locked soon after one another, and for those still to be locked, but not for ever.
func TestAListWaitsForAllReleasesThatItCanServe(t *testing.T) {
	kinds := map[schema.GroupVersionKind]watch.Kind{{Version: "v1", Kind: "ConfigMap"}: {}}
	for name, tc := range map[string]struct {
		joins  int           // further ones
		every  time.Duration // between them
		behind time.Duration // until then, others are still to be locked
		want   time.Duration
	}{
		"one alone":                   {want: relistQuiet},
		"several soon after another":  {joins: 5, every: relistQuiet / 2, want: 4 * relistQuiet},
		"several with gaps":           {joins: 5, every: 2 * relistQuiet, want: relistQuiet},
		"some are still to be locked": {behind: 10*relistQuiet - 1, want: 10 * relistQuiet},
		"more and more come":          {joins: 1000, every: relistQuiet / 2, want: relistTimeout},
		"one never comes":             {behind: time.Hour, want: relistTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rl := testRelist()
				join := func() {
					check.That(t, rl.join(time.Now(), relistFrom, &lock.Lock{}, kinds), "did not join")
				}
				join()
				begin := time.Now()
				for n := range tc.joins {
					t.Cleanup(func(stop func() bool) func() { return func() { stop() } }(
						time.AfterFunc(time.Duration(n+1)*tc.every, join).Stop))
				}
				behind := func() int {
					if time.Since(begin) < tc.behind {
						return 1
					}
					return 0
				}
				check.That(t, rl.gather(t.Context(), behind), "says that it was stopped")
				check.Equal(t, time.Since(begin), tc.want, "waited")
			})
		})
	}
}

func TestAListIsNotWaitedForWhenTheOperatorStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*relistQuiet, cancel)
		begin := time.Now()
		check.That(t, !testRelist().gather(ctx, func() int { return 1 }), "says that a list is due")
		check.Equal(t, time.Since(begin), 3*relistQuiet, "returned after")
	})
}
