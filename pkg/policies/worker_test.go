package policies

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/fixture"
)

// An operator whose token had just expired ended by itself.
func TestPoliciesAreWatchedInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		tries, good := 0, 3
		w := &worker{Options: Options{Log: fixture.Quiet(), Clock: clock.RealClock{}}, clients: clients{
			start: func(context.Context) error {
				if tries++; tries == good {
					return nil
				}
				return errors.New("refused")
			},
		}}
		w.startCaches(ctx)
		check.That(t, tries == good, "tried %d times", tries)
		tries, good = 0, -1
		ended := make(chan struct{})
		go func() { w.startCaches(ctx); close(ended) }()
		synctest.Wait()
		cancel()
		<-ended
		check.That(t, tries == 1, "tried %d times until the operator ended", tries)
	})
}
