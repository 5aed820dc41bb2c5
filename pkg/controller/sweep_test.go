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
		left   int           // still to be locked, until they have joined, or
		behind time.Duration // until then, if that is set
		took   time.Duration // the lists before
		want   time.Duration
	}{
		"one alone":                   {want: sweepGather},
		"several soon after another":  {joins: 5, every: sweepGather / 2, want: 4 * sweepGather},
		"several with gaps":           {joins: 5, every: 2 * sweepGather, want: sweepGather},
		"some are still to be locked": {left: 1, behind: 10*sweepGather - 1, want: 10 * sweepGather},
		"more and more come":          {joins: 1000, every: sweepGather / 2, want: sweepPatience},
		"more and more come, and lists take long": {
			joins: 1000, every: sweepGather / 2, took: sweepPatience, want: sweepRest * sweepPatience,
		},
		"most have come":          {joins: 201, every: 23 * time.Millisecond, left: 201, want: 93 * sweepGather},
		"few of many have come":   {joins: 2000, every: sweepGather / 2, left: 2000, want: sweepPatience},
		"one never comes":         {left: 1, behind: time.Hour, want: sweepPatience},
		"one of many never comes": {joins: 30, every: 2 * sweepGather, left: 31, want: sweepRest * sweepPatience},
		"one never comes, and lists take long": {
			left: 1, behind: time.Hour, took: sweepPatience, want: sweepRest * sweepPatience,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSweeps()
				took := func() time.Duration { return tc.took }
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
				behind := func() int {
					if tc.behind > 0 {
						return map[bool]int{true: tc.left}[time.Since(begin) < tc.behind]
					}
					return max(0, tc.left-(s.count()-1))
				}
				if !s.gather(ctx, clock.RealClock{}, behind, took) {
					t.Error("says that it was stopped")
				}
				if took := time.Since(begin); took != tc.want {
					t.Errorf("waited %s, want %s", took, tc.want)
				}
			})
		})
	}
}

// A watch that hangs takes longer the longer it is asked: a list that waited for three times as long would never come.
func TestAWatchThatHangsDoesNotHoldListsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		sinceBegin := func() time.Duration { return time.Since(begin) }
		took := func() time.Duration { return listTime(0, sinceBegin) }
		if !newSweeps().gather(t.Context(), clock.RealClock{}, func() int { return 1 }, took) {
			t.Error("says that it was stopped")
		}
		if waited := time.Since(begin); waited != sweepRest*sweepGuess {
			t.Errorf("waited %s", waited)
		}
	})
	if got := listTime(time.Minute, func() time.Duration { return time.Second }); got != time.Minute {
		t.Errorf("%s in place of what the last lists took", got)
	}
}

func TestGatheringEndsWithTheOperator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var returned atomic.Bool
		go func() {
			if newSweeps().gather(ctx, clock.RealClock{}, func() int { return 1 }, func() time.Duration { return 0 }) {
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
