package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/process"
)

// fault is one failure: it begins, lasts and ends before do returns.
type fault struct {
	name string
	do   func(context.Context) error
}

// failures makes one failure after the other.
type failures struct {
	cluster  *cluster.Cluster
	proxy    *cluster.Proxy
	operator *supervisor
	report   *report

	mu     sync.Mutex
	random *rand.Rand
	deck   []fault
}

// all returns every failure there is; deadly ones end processes of the operator.
func (f *failures) all(deadly bool) []fault {
	all := []fault{
		{"409 for writes of the operator", f.refusing(cluster.IsWrite, 0.6, http.StatusConflict)},
		{"500 for anything the operator asks", f.refusing(nil, 0.4, http.StatusInternalServerError)},
		{"429 for anything the operator asks", f.refusing(nil, 0.4, http.StatusTooManyRequests)},
		{"410 for watches, and their end", func(ctx context.Context) error {
			remove := f.proxy.Intercept(f.sometimes(cluster.IsWatch, 0.7, func() cluster.Action {
				return cluster.Fail(http.StatusGone, "too old resource version")
			}))
			defer remove()
			f.proxy.CutWatches(nil)
			return f.last(ctx)
		}},
		{"watches cut", func(context.Context) error { f.proxy.CutWatches(nil); return nil }},
		{"watches that deliver late", func(ctx context.Context) error {
			defer f.proxy.HoldWatch(nil)()
			return f.last(ctx)
		}},
		// The operator then observes Helm's writes to objects before it observes that Helm is at work: only the read
		// of the record prevents a revert.
		{"release records that arrive late", func(ctx context.Context) error {
			defer f.proxy.HoldWatch(cluster.ForResource("secrets"))()
			return f.last(ctx)
		}},
		{"slow answers", f.during(func(r *http.Request) cluster.Action {
			if cluster.IsWatch(r) {
				return cluster.Forward()
			}
			delay := time.Duration(f.share() * float64(700*time.Millisecond))
			return cluster.Action{After: func(response *http.Response) error {
				return process.Sleep(response.Request.Context(), delay)
			}}
		})},
		{"requests lost", f.during(f.sometimes(nil, 0.3, cluster.Drop))},
		{"answers lost", f.during(f.sometimes(cluster.IsWrite, 0.3, cluster.DropAnswer))},
		{"API server restarted", func(ctx context.Context) error {
			return within(context.WithoutCancel(ctx), startTime, "the restart of the API server",
				func(ctx context.Context) error { return f.cluster.RestartAPIServer(ctx) })
		}},
		{"API server hung", func(ctx context.Context) error {
			if err := f.cluster.Pause(); err != nil {
				return err
			}
			return errors.Join(f.last(ctx), f.cluster.Resume())
		}},
	}
	if deadly {
		all = append(all, fault{"operator killed", f.operator.kill}, fault{"operator told to stop", f.operator.restart})
	}
	return all
}

// once makes one failure. Every kind occurs once before any occurs again.
func (f *failures) once(ctx context.Context, deadly bool) error {
	f.mu.Lock()
	if len(f.deck) == 0 {
		f.deck = f.all(deadly)
		f.random.Shuffle(len(f.deck), func(i, j int) { f.deck[i], f.deck[j] = f.deck[j], f.deck[i] })
	}
	next := f.deck[0]
	f.deck = f.deck[1:]
	f.mu.Unlock()
	if err := next.do(ctx); err != nil && ctx.Err() == nil {
		return fmt.Errorf("%s: %w", next.name, err)
	}
	f.report.count("failures: " + next.name)
	return nil
}

// last waits for the duration of a failure; the end of ctx ends it early, without an error.
func (f *failures) last(ctx context.Context) error {
	if err := process.Sleep(ctx, time.Second+time.Duration(f.share()*float64(1500*time.Millisecond))); err != nil &&
		ctx.Err() == nil {
		return err
	}
	return nil
}

func (f *failures) share() float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.random.Float64()
}

// sometimes returns a hook that acts on a share of the matching requests.
func (f *failures) sometimes(
	match cluster.Match, share float64, action func() cluster.Action,
) func(*http.Request) cluster.Action {
	return func(r *http.Request) cluster.Action {
		if (match == nil || match(r)) && f.share() < share {
			return action()
		}
		return cluster.Forward()
	}
}

func (f *failures) refusing(match cluster.Match, share float64, code int) func(context.Context) error {
	return f.during(f.sometimes(match, share, func() cluster.Action {
		return cluster.Fail(code, "refused by the soak")
	}))
}

func (f *failures) during(hook func(*http.Request) cluster.Action) func(context.Context) error {
	return func(ctx context.Context) error {
		defer f.proxy.Intercept(hook)()
		return f.last(ctx)
	}
}

// within bounds a wait: its timeout is an error that names the missing condition.
func within(ctx context.Context, limit time.Duration, what string, do func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := do(bounded)
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		return fmt.Errorf("%s took longer than %s: %w", what, limit, err)
	}
	return err
}

// supervisor keeps an operator running, as a kubelet does. It is safe for concurrent use.
type supervisor struct {
	report *report

	mu      sync.Mutex
	program *process.Operator
	life    int // counts the processes
}

// ensure starts the operator unless it runs, and tries again when it ends while it starts.
func (s *supervisor) ensure(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.start(ctx)
}

// startTime bounds the start of a process, on a busy machine and with an API server that may be down.
const startTime = 3 * time.Minute

// start is ensure; s.mu is held.
func (s *supervisor) start(ctx context.Context) error {
	return within(ctx, startTime, "the start of the operator", s.startUntil)
}

// startUntil is start without a bound.
func (s *supervisor) startUntil(ctx context.Context) error {
	for !s.program.Running() {
		if s.life > 0 {
			s.report.count("operator: processes started again")
		}
		s.life++
		if err := s.program.Start(ctx); err != nil {
			if ctx.Err() != nil {
				return errors.Join(ctx.Err(), err)
			}
			s.report.count("operator: starts that failed, for want of an API server that answers")
			if err := process.Sleep(ctx, 500*time.Millisecond); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *supervisor) kill(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.program.Running() {
		return s.start(ctx)
	}
	if err := s.program.Kill(); err != nil {
		return err
	}
	return s.start(ctx)
}

// restart stops the operator, which must succeed, and starts the next one.
func (s *supervisor) restart(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.program.Running() {
		if err := s.program.Stop(); err != nil {
			s.report.count("operator: stops that ended with an error: " + err.Error())
		}
	}
	return s.start(ctx)
}

// stop ends the operator for good.
func (s *supervisor) stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.program.Running() {
		return nil
	}
	return s.program.Stop()
}

// look returns the running process with its memory (without the pages of the program) and its sockets.
func (s *supervisor) look() (c calm, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	memory, err := s.program.Memory()
	if err != nil {
		return c, err
	}
	sockets, err := s.program.Sockets()
	return calm{life: s.life, memory: memory.Own(), sockets: sockets}, err
}
