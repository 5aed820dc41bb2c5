package guard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
	"github.com/rancher/helm-locker/tests/lib/process"
)

// propagation is how long the Service forwards connections to the address of a replica that ends or is dead: an
// EndpointSlice is written, and the nodes follow it.
const propagation = time.Second

// preStop is the time from the deletion of a Pod to its signal to stop: less than guard.preStopSeconds of the chart.
const preStop = 2 * time.Second

// service is two operators in processes of their own, as a Deployment runs them behind a Service: the front forwards to
// those that are ready. One of its methods runs at a time, but for deadBetween.
type service struct {
	*trusting
	path, config string
	logs         string // the directory of their logs
	running      []*replica
	// rolled, drained and killed count the restarts; each is set once there was one of each kind.
	rolled, drained, killed int
	each                    atomic.Bool

	mu   sync.Mutex
	dead []period // when the front had the address of a killed replica
}

type period struct{ from, to time.Time }

// replica is one of the operators, at the address of its guard.
type replica struct {
	*process.Operator
	address string
}

func newService(t *testing.T) *service {
	t.Helper()
	s := &service{trusting: &trusting{
		fixture: &fixture{Fixture: &kit.Fixture{Env: kit.New(t, kit.Shared)}, front: newFront(t)},
	}, logs: t.TempDir()}
	var err error
	s.path, err = program()
	check.NoError(t, err)
	s.config = s.kubeconfig()
	t.Cleanup(s.stop)
	for range 2 {
		check.NoError(t, s.start(s.Ctx))
	}
	return s
}

// start starts a replica, and has the front forward to it once it is ready.
func (s *service) start(ctx context.Context) error {
	address, err := process.FreeAddress()
	if err != nil {
		return err
	}
	log, err := os.CreateTemp(s.logs, "*.log")
	if err != nil {
		return fmt.Errorf("log of a replica: %w", err)
	}
	r := &replica{address: address, Operator: &process.Operator{
		Path: s.path, Kubeconfig: s.config, Namespace: s.Operator, Log: log,
		Args: []string{"--controller-name", s.Operator, "--skip-crd", "--debug", "--trust-records=Witnessed",
			"--leader-elect=true", "--lease-duration=2s",
			"--guard-address", address, "--guard-url", "https://" + s.front.address()},
	}}
	if err := r.Start(ctx); err != nil {
		return errors.Join(err, log.Close())
	}
	s.front.add(address)
	s.running = append(s.running, r)
	return nil
}

// end ends a replica as the deletion of its Pod does.
func (s *service) end(ctx context.Context, r *replica) error {
	var stop errgroup.Group
	stop.Go(func() error {
		err := process.Sleep(ctx, propagation)
		s.front.remove(r.address)
		return err
	})
	err := process.Sleep(ctx, preStop)
	return errors.Join(err, r.Stop(), stop.Wait(), s.forget(r))
}

func (s *service) forget(r *replica) error {
	s.running = slices.DeleteFunc(s.running, func(other *replica) bool { return other == r })
	return r.Log.Close()
}

// roll replaces both replicas, one after the other. The next one is ready before one ends.
func (s *service) roll(ctx context.Context) error {
	s.rolled++
	for _, old := range slices.Clone(s.running) {
		if err := s.start(ctx); err != nil {
			return err
		}
		if err := s.end(ctx, old); err != nil {
			return err
		}
	}
	return nil
}

// drain ends the leader, and then starts another replica.
func (s *service) drain(ctx context.Context) error {
	s.drained++
	leader, err := s.leader(ctx)
	if err != nil {
		return err
	}
	if err := s.end(ctx, leader); err != nil {
		return err
	}
	return s.start(ctx)
}

// kill kills the leader. Its address is dead until the front has no longer got it.
func (s *service) kill(ctx context.Context) error {
	s.killed++
	leader, err := s.leader(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.dead = append(s.dead, period{from: time.Now()})
	s.mu.Unlock()
	if err := leader.Kill(); err != nil {
		return err
	}
	err = process.Sleep(ctx, propagation)
	s.front.remove(leader.address)
	s.mu.Lock()
	s.dead[len(s.dead)-1].to = time.Now()
	s.mu.Unlock()
	if err := errors.Join(err, s.forget(leader)); err != nil {
		return err
	}
	return s.start(ctx)
}

// leader returns the replica that leads, once there is one.
func (s *service) leader(ctx context.Context) (leader *replica, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err = process.Poll(ctx, 20*time.Millisecond, func() (bool, error) {
		for _, r := range s.running {
			text, err := os.ReadFile(r.Log.Name())
			if err != nil {
				return false, fmt.Errorf("log of a replica: %w", err)
			}
			if strings.Contains(string(text), "msg=leading") {
				leader = r
			}
		}
		return leader != nil, nil
	})
	return leader, err
}

// deadBetween reports whether the front had the address of a killed replica in a period.
func (s *service) deadBetween(from, to time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.dead, func(p period) bool {
		return p.from.Before(to) && (p.to.IsZero() || p.to.After(from))
	})
}

// stop stops all replicas, and shows their logs after a failure.
func (s *service) stop() {
	s.Helper()
	for _, r := range s.running {
		check.Report(s, errors.Join(r.Stop(), r.Log.Close()))
	}
	s.running = nil
	logs, err := filepath.Glob(filepath.Join(s.logs, "*.log"))
	check.Report(s, err)
	for _, log := range logs {
		if s.Failed() {
			text, err := os.ReadFile(log)
			s.Logf("%s (%v):\n%s", log, err, text)
		}
	}
}
