package fair

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// One client with endless work has its share, and the work of another begins before it has ended.
func TestHostile_OneClientLeavesTheOthersTheirShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSemaphore(Limits{All: 3, Each: 2, Most: 8})
		blocked := make(chan struct{})
		var greedy sync.WaitGroup
		for range 8 {
			greedy.Go(func() {
				check.Report(t, s.Do(t.Context(), "greedy", func() error { <-blocked; return nil }))
			})
		}
		synctest.Wait()
		err := s.Do(t.Context(), "greedy", func() error { return nil })
		check.That(t, errors.Is(err, ErrBusy), "more than its places: %v", err)
		done := false
		patient, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err = s.Do(patient, "modest", func() error { done = true; return nil })
		check.That(t, err == nil && done, "another client: %v", err)
		close(blocked)
		greedy.Wait()
		check.Equal(t, len(s.tenants), 0, "tenants are remembered: %v", s.tenants)
	})
}

func TestWorkThatFailsOrIsGivenUpFreesItsShare(t *testing.T) {
	s := NewSemaphore(Limits{All: 1, Each: 1, Most: 1})
	failure := errors.New("no luck")
	for range 3 {
		if err := s.Do(t.Context(), "a", func() error { return failure }); !errors.Is(err, failure) {
			t.Errorf("got %v", err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	err := s.Do(t.Context(), "a", func() error {
		return s.Do(ended, "b", func() error { t.Error("done"); return nil })
	})
	check.That(t, errors.Is(err, context.Canceled), "got %v", err)
	check.Report(t, s.Do(t.Context(), "b", func() error { return nil }))
}
