package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/process"
)

const operatorNamespace = "cattle-helm-system"

// releasePrefix is the prefix of the names of all releases and their objects.
const releasePrefix = "soak-"

// Pace of the load. The machine is to be busy, not the test to be a race for the processor.
const (
	helmsAtOnce    = 2
	helmPause      = 500 * time.Millisecond
	tamperPause    = 150 * time.Millisecond
	failurePause   = time.Second
	watchDog       = 500 * time.Millisecond
	shortLease     = 4 * time.Second // of runs that are over before the default would run out a few times
	longLease      = 15 * time.Second
	longRunAtLeast = 10 * time.Minute
)

// buildTime is how long it may take to build programs and to start the first time.
const buildTime = 20 * time.Minute

// soakRun is one run.
type soakRun struct {
	options
	report  *report
	log     io.Writer
	client  dynamic.Interface
	kube    kubernetes.Interface
	journal journal
	// Caches of the journal, which is long in a long run: the creators of undeclared objects, and Helm's last state
	// of others, by uid and version.
	creators map[types.UID]string
	left     map[string]map[string]any
	proxy    *cluster.Proxy
	operator *supervisor
	failures *failures
	tamperer *tamperer
	releases []*helmRelease
	metrics  string
}

// soak makes one run in a directory and fills the report.
func soak(ctx context.Context, o options, r *report, dir string, log io.Writer) (err error) {
	s := &soakRun{options: o, report: r, log: log, creators: map[types.UID]string{}, left: map[string]map[string]any{}}
	var c *cluster.Cluster
	err = within(ctx, buildTime, "the start of the control plane", func(ctx context.Context) error {
		c, err = cluster.Start(ctx, withJournal(log))
		return err
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	s.journal.path = c.AuditLog()
	ctx, cancel := context.WithCancel(ctx)
	background, backgroundCtx := errgroup.WithContext(ctx)
	defer func() {
		cancel()
		if waitErr := background.Wait(); !errors.Is(waitErr, context.Canceled) {
			err = errors.Join(err, waitErr)
		}
	}()
	var closeLog func() error
	err = within(ctx, buildTime, "the first installation", func(ctx context.Context) error {
		closeLog, err = s.prepare(ctx, c, dir)
		return err
	})
	if err != nil {
		return err
	}
	defer func() {
		cancel()
		err = errors.Join(err, s.operator.stop(), closeLog())
	}()
	if err := s.operator.ensure(ctx); err != nil {
		return err
	}
	background.Go(func() error {
		for process.Sleep(backgroundCtx, watchDog) == nil {
			if err := s.operator.ensure(backgroundCtx); err != nil {
				return err
			}
		}
		return nil
	})
	if err := s.lockAll(ctx); err != nil {
		return err
	}
	if err := s.rounds(ctx); err != nil {
		return err
	}
	if r.counts[operatorWrites] == 0 {
		r.fail("not one write of the operator to an object of Helm's was seen: the load was none")
	}
	r.judgeGrowth()
	return nil
}

// rounds alternates between load and proof. Processes of the operator are only killed in the first half: the second
// shows the growth of a long-lived one.
func (s *soakRun) rounds(ctx context.Context) error {
	for spent := time.Duration(0); spent < s.duration; spent += s.round {
		fmt.Fprintf(s.log, "%s load, %s of %s done\n", time.Now().Format("15:04:05"), spent, s.duration)
		if err := s.load(ctx, min(s.round, s.duration-spent), 2*spent < s.duration); err != nil {
			return err
		}
		fmt.Fprintf(s.log, "%s proof\n", time.Now().Format("15:04:05"))
		if err := s.prove(ctx); err != nil {
			return err
		}
	}
	return nil
}

// load does everything at once for a time.
func (s *soakRun) load(ctx context.Context, d time.Duration, deadly bool) error {
	loading, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	group := errgroup.Group{}
	repeat := func(pause time.Duration, do func() error) {
		group.Go(func() error {
			var err error
			for err == nil && loading.Err() == nil {
				if err = do(); err == nil {
					err = process.Sleep(loading, pause)
				}
			}
			if loading.Err() == nil {
				return err
			}
			return nil // what the end of the load broke off
		})
	}
	for _, r := range s.releases {
		// A running Helm command may finish: a lock cannot repair the effects of a killed one.
		repeat(helmPause, func() error { return r.work(ctx) })
	}
	repeat(tamperPause, func() error { s.tamperer.once(loading); return nil })
	repeat(failurePause, func() error { return s.failures.once(loading, deadly) })
	return group.Wait()
}
