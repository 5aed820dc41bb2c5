package page

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// An operator that does not renew its Lease is told of with a beat, and so is its return.
func TestOperatorsThatDoNotRunAreToldOf(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	clk := testclock.NewFakeClock(start)
	var runs atomic.Bool
	s := serve(t, func(p *Page) {
		p.Clock, p.Viewers = clk, nil
		p.Lease = func(_ context.Context, name string) (coordinationv1.LeaseSpec, error) {
			if name != "other" {
				return coordinationv1.LeaseSpec{}, apierrors.NewNotFound(coordinationv1.Resource("leases"), name)
			}
			holder, seconds, renewed := "a-pod", int32(15), metav1.NewMicroTime(start)
			if runs.Load() {
				renewed = metav1.NewMicroTime(clk.Now())
			}
			return coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds,
				RenewTime: &renewed}, nil
		}
	})
	for name, owner := range map[string]string{"one": "me", "two": "other", "three": "other", "four": "unknown"} {
		s.store.set(name, owner)
	}
	next := s.events()
	passing := time.NewTicker(time.Millisecond)
	t.Cleanup(passing.Stop)
	go func() {
		for {
			select {
			case <-passing.C:
				clk.Step(beatEvery)
			case <-t.Context().Done():
				return
			}
		}
	}()
	hears := func(part string) {
		t.Helper()
		for event, data := next(); event != "operator" || !strings.Contains(data, part); event, data = next() {
			check.Must(t, event != "", "the stream ended without %s", part)
		}
	}
	hears(`"stopped":[{"lease":"other","text":"no operator other is running in namespace locker (last seen ` +
		`2026-01-02T03:00:00Z)"}]`)
	runs.Store(true)
	hears(`"ready":false,"compares":false`)
}
