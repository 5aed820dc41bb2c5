package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/kit"
	"github.com/rancher/helm-locker/tests/lib/process"
)

const (
	// settleTime is how long everything may take to be as it should be after the load. Back-off after failures counts.
	settleTime = 3 * time.Minute
	// quietTime is how long nothing may be written.
	quietTime = 3 * time.Second
	// lookTime bounds one read of everything.
	lookTime = time.Minute

	operatorWrites = "operator: writes to objects of releases"
)

// prove waits for the expected state, and proves it. A timeout is a failure of the run.
func (s *soakRun) prove(ctx context.Context) error {
	begun := time.Now()
	if err := s.operator.ensure(ctx); err != nil {
		return err
	}
	for _, r := range s.releases {
		if err := r.recover(ctx); err != nil {
			return err
		}
	}
	good := time.Now() // what Helm took is not the operator's time
	wrong := errors.New("not looked at yet")
	for time.Since(good) < settleTime {
		if wrong = s.asDeclared(ctx); wrong == nil {
			break
		}
		if err := process.Sleep(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
	if wrong != nil {
		s.report.fail("%s after the load, not everything is as it should be: %v%s", settleTime, wrong, s.past(wrong))
		return nil
	}
	settled := time.Since(begun)
	if err := s.quiet(ctx); err != nil {
		return err
	}
	if err := s.asDeclared(ctx); err != nil {
		s.report.fail("not any more as it should be, after a time in which nobody did anything: %v%s", err, s.past(err))
	}
	before, err := s.operator.look()
	if err != nil {
		return err
	}
	goroutines, err := s.goroutines(ctx)
	if err != nil {
		return err
	}
	point, err := s.operator.look()
	if err != nil || point.life != before.life {
		return err // it was started anew just now, on a machine that is too busy to renew a lease: nothing to compare
	}
	point.settled, point.goroutines = settled, goroutines
	s.report.calm(point)
	return nil
}

// wrongObject is an error about an object.
type wrongObject struct {
	key  objectKey
	what string
}

func (w *wrongObject) Error() string { return fmt.Sprintf("%s: %s", w.key, w.what) }

// past prints the writes to the object of an error; empty for an error about none.
func (s *soakRun) past(err error) string {
	wrong := (*wrongObject)(nil)
	if !errors.As(err, &wrong) {
		return ""
	}
	entries, err := s.journal.read(wrong.key)
	if err != nil {
		return fmt.Sprintf("\n    (what was done to it is not known: %v)", err)
	}
	return "\n    " + story(entries, wrong.key)
}

// asDeclared returns the differences from the declared state; nil for none.
func (s *soakRun) asDeclared(ctx context.Context) error {
	return within(ctx, lookTime, "looking at all objects", s.look)
}

func (s *soakRun) look(ctx context.Context) error {
	for _, r := range s.releases {
		_, revision, err := r.newest(ctx)
		if err != nil {
			return err
		}
		u, err := s.client.Resource(kit.HelmReleases).Namespace(operatorNamespace).Get(ctx, r.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		hr := &v1alpha1.HelmRelease{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, hr); err != nil {
			return fmt.Errorf("HelmRelease %s: %w", r.name, err)
		}
		ready := meta.IsStatusConditionTrue(hr.Status.Conditions, v1alpha1.ConditionReady)
		if hr.Status.Revision != revision || !ready {
			return fmt.Errorf("HelmRelease %s is not Ready at revision %d: %+v", r.name, revision, hr.Status)
		}
		declared, err := r.manifest(ctx)
		if err != nil {
			return err
		}
		s.tamperer.learn(r.name, declared)
		if err := s.compare(ctx, r, declared); err != nil {
			return err
		}
	}
	return nil
}

// quiet waits for a time without writes other than leases. Reports of the last actions may still be in flight.
func (s *soakRun) quiet(ctx context.Context) error {
	for range kit.ObjectWrites(s.proxy) {
		s.report.count(operatorWrites)
	}
	var written []string
	for range 10 {
		s.proxy.Reset()
		if err := process.Sleep(ctx, quietTime); err != nil {
			return err
		}
		written = nil
		for _, w := range s.proxy.Writes() {
			if w.Resource() != "leases" {
				written = append(written, w.String())
			}
		}
		if len(written) == 0 {
			return nil
		}
	}
	s.report.fail("the operator goes on writing at rest: %s", strings.Join(written, "; "))
	return nil
}

// goroutines returns how many goroutines the operator has.
func (s *soakRun) goroutines(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	content, err := process.Get(ctx, "http://"+s.metrics+"/metrics")
	if err != nil {
		return 0, fmt.Errorf("metrics of the operator: %w", err)
	}
	for line := range strings.Lines(string(content)) {
		if value, found := strings.CutPrefix(line, "go_goroutines "); found {
			return strconv.Atoi(strings.TrimSpace(value))
		}
	}
	return 0, errors.New("the operator does not tell how many goroutines it has")
}
