package controller

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/watch"
)

// A list waits for those who come soon after one another, and for those who are still to be locked, but not for ever.
func TestAListWaitsForAllWhomItCanServe(t *testing.T) {
	kinds := map[schema.GroupVersionKind]watch.Kind{{Version: "v1", Kind: "ConfigMap"}: {}}
	for name, tc := range map[string]struct {
		joins  int           // further ones
		every  time.Duration // between them
		behind time.Duration // until none is to be locked
		took   time.Duration // the lists before
		want   time.Duration
	}{
		"one alone":                    {want: sweepGather},
		"several soon after another":   {joins: 5, every: sweepGather / 2, want: 4 * sweepGather},
		"several with gaps":            {joins: 5, every: 2 * sweepGather, want: sweepGather},
		"some are still to be locked":  {behind: 10*sweepGather - 1, want: 10 * sweepGather},
		"more and more come":           {joins: 1000, every: sweepGather / 2, want: sweepPatience},
		"there is always more to lock": {behind: time.Hour, want: sweepPatience},
		"lists take long":              {behind: time.Hour, took: sweepPatience, want: sweepRest * sweepPatience},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSweeps()
				s.took = tc.took
				join := func() {
					if !s.join(time.Now(), sweepFrom, &lock.Lock{}, kinds) {
						t.Error("did not join")
					}
				}
				join()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go func() {
					for range tc.joins {
						select {
						case <-time.After(tc.every):
							join()
						case <-ctx.Done():
							return
						}
					}
				}()
				begin := time.Now()
				behind := func() int { return map[bool]int{true: 1}[time.Since(begin) < tc.behind] }
				if !s.gather(ctx, clock.RealClock{}, behind) {
					t.Error("says that it was stopped")
				}
				if took := time.Since(begin); took != tc.want {
					t.Errorf("waited %s, want %s", took, tc.want)
				}
			})
		})
	}
}

func TestGatheringEndsWithTheOperator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var returned atomic.Bool
		go func() {
			if newSweeps().gather(ctx, clock.RealClock{}, func() int { return 1 }) {
				t.Error("says that a list is due")
			}
			returned.Store(true)
		}()
		<-time.After(sweepGather * 3)
		if returned.Load() {
			t.Error("did not wait")
		}
		cancel()
		synctest.Wait()
		if !returned.Load() {
			t.Error("still waits")
		}
	})
}
