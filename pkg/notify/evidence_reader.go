package notify

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/evidence"
)

// stateReader lists the HelmReleases for a sink when it is asked to.
type stateReader struct {
	client dynamic.ResourceInterface
	sink   *sink
	clock  clock.PassiveClock
	log    logrus.FieldLogger
	asked  chan bool // holds one token; true for all states
	last   time.Time // of the last reading, or gap; only run has it
}

// newStateReader returns a reader of the HelmReleases in a namespace for a sink.
func newStateReader(client dynamic.ResourceInterface, s *sink, log logrus.FieldLogger) *stateReader {
	r := &stateReader{client: client, sink: s, clock: s.clock, log: log, asked: make(chan bool, 1)}
	s.ask = r.ask
	return r
}

// ask has the states read. It never waits.
func (r *stateReader) ask(all bool) {
	for {
		select {
		case r.asked <- all:
			return
		case before := <-r.asked:
			all = all || before
		}
	}
}

// run reads until ctx ends.
func (r *stateReader) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case all := <-r.asked:
			r.try(ctx, all)
		}
	}
}

// try reads, or has the time since the last reading written as a gap.
func (r *stateReader) try(ctx context.Context, all bool) {
	err := r.read(ctx, all)
	if err == nil || ctx.Err() != nil {
		return
	}
	r.log.Warnf("evidence: %v", err)
	now := r.clock.Now().UTC()
	g := evidence.Gap{From: cmp.Or(r.last, now), Until: now, Reason: evidence.StatesNotRead}
	r.last = now
	r.sink.put(entry{handle: func(time.Time) []*evidence.Line { return []*evidence.Line{gap("", g)} }})
}

// read lists the HelmReleases and has the changes written.
func (r *stateReader) read(ctx context.Context, all bool) error {
	after := r.clock.Now().UTC() // a message about a later change has a later time
	found, err := r.client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list HelmReleases: %w", err)
	}
	list := make([]v1alpha1.HelmRelease, len(found.Items))
	for i := range found.Items {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Items[i].Object, &list[i]); err != nil {
			return fmt.Errorf("read a HelmRelease: %w", err)
		}
	}
	r.last = after
	r.sink.put(entry{handle: func(time.Time) []*evidence.Line { return r.sink.states.read(list, after, all) }})
	return nil
}
