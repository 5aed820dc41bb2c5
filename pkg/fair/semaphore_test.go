package fair

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// asker requests slots and records the order of the grants.
type asker struct {
	*testing.T
	*Semaphore
	order []string
	held  map[string][]func()
}

// ask starts a goroutine for each named tenant, in that order, and returns when all wait or hold a slot.
func (a *asker) ask(tenants string) {
	for name := range strings.FieldsSeq(tenants) {
		go func() {
			release, err := a.Acquire(a.Context(), name)
			if err != nil {
				return
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			a.order = append(a.order, name)
			a.held[name] = append(a.held[name], release)
		}()
		synctest.Wait()
	}
}

// release gives back the oldest slot of a tenant, twice: the second call is to change nothing.
func (a *asker) release(name string) {
	a.Helper()
	release := a.oldest(name)
	release()
	release()
	synctest.Wait()
}

// oldest removes the oldest slot of a tenant from the held ones.
func (a *asker) oldest(name string) (release func()) {
	a.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.held[name]) == 0 {
		a.Fatalf("%s has no slot; they were handed out to %q", name, a.order)
	}
	release = a.held[name][0]
	a.held[name] = a.held[name][1:]
	return release
}

func (a *asker) want(order string) {
	a.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if got := strings.Join(a.order, " "); got != order {
		a.Errorf("slots were handed out to %q, want %q", got, order)
	}
}

func fair(t *testing.T, l Limits, test func(a *asker)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(&asker{T: t, Semaphore: NewSemaphore(l), held: map[string][]func(){}})
	})
}

func TestSemaphore_TenantsTakeTurns(t *testing.T) {
	fair(t, Limits{All: 2, Each: 2}, func(a *asker) {
		a.ask("a a a a a b c")
		a.want("a a")
		for range 5 {
			a.release(a.order[len(a.order)-1])
		}
		a.want("a a a b c a a")
		for name, held := range a.held {
			for range held {
				a.release(name)
			}
		}
		if len(a.tenants) != 0 || len(a.rotation) != 0 || a.Semaphore.held != 0 || a.Waiting() != 0 {
			a.Errorf("left over: %d tenants, %d in the rotation, %d slots, %d waiting", len(a.tenants),
				len(a.rotation), a.Semaphore.held, a.Waiting())
		}
	})
}

func TestSemaphore_OneTenantNeverHasAll(t *testing.T) {
	fair(t, Limits{All: 4, Each: 2}, func(a *asker) {
		a.ask("a a a a")
		a.want("a a")
		if n := a.Waiting(); n != 2 {
			a.Errorf("%d wait", n)
		}
		a.ask("b b b c")
		a.want("a a b b")
		a.release("b")
		a.want("a a b b b")
		a.release("a") // it has waited for longest
		a.want("a a b b b a")
		a.release("b")
		a.want("a a b b b a c")
	})
}

// A slot held for long counts for its tenant only.
func TestSemaphore_SlowOnesCountForTheirTenantOnly(t *testing.T) {
	fair(t, Limits{All: 4, Each: 2, Slow: time.Second}, func(a *asker) {
		a.ask("a a a b b c c c")
		a.want("a a b b")
		<-time.After(time.Second)
		synctest.Wait()
		a.want("a a b b c c")
		a.release("a")
		a.want("a a b b c c a")
		a.ask("d")
		a.want("a a b b c c a d")
		a.ask("e")
		a.want("a a b b c c a d")
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.Semaphore.held != 4 {
			a.Errorf("%d slots count", a.Semaphore.held)
		}
	})
}

func TestSemaphore_WhoGivesUpTakesNoSlot(t *testing.T) {
	fair(t, Limits{All: 1, Each: 1}, func(a *asker) {
		a.ask("a")
		ctx, cancel := context.WithCancel(a.Context())
		gone := make(chan error)
		go func() {
			release, err := a.Acquire(ctx, "b")
			release()
			gone <- err
		}()
		synctest.Wait()
		a.ask("c")
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			a.Errorf("error is %v", err)
		}
		if slices.Contains(a.order, "b") || a.tenants["b"] != nil {
			a.Errorf("order is %v, tenants are %v", a.order, a.tenants)
		}
		if a.want("a"); a.Waiting() != 1 {
			a.Errorf("%d wait", a.Waiting())
		}
		a.release("a")
		a.want("a c")
	})
}

// A tenant with enough waiting callers gets no more of them, and others wait nevertheless.
func TestSemaphore_FewOfOneTenantWait(t *testing.T) {
	fair(t, Limits{All: 2, Each: 1, Most: 3}, func(a *asker) {
		a.ask("a b a a b")
		for name, want := range map[string]error{"a": ErrBusy, "b": nil, "c": nil} {
			ctx, cancel := context.WithCancel(a.Context())
			refused := make(chan error, 1)
			go func() {
				_, err := a.Acquire(ctx, name)
				refused <- err
			}()
			synctest.Wait()
			cancel()
			if err := <-refused; errors.Is(err, ErrBusy) != (want != nil) {
				a.Errorf("%s: the error is %v", name, err)
			}
		}
		a.release("a")
		a.want("a b a")
	})
}

// Both may happen at once: a slot granted to a caller that has given up is passed on.
func TestSemaphore_SlotGrantedToWhoHasGivenUp(t *testing.T) {
	fair(t, Limits{All: 1, Each: 1}, func(a *asker) {
		ctx, cancel := context.WithCancel(a.Context())
		cancel()
		for range 50 { // select chooses at random
			release, _ := a.Acquire(ctx, "a")
			release()
		}
		a.ask("b")
		a.want("b")
	})
}

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
