package policies

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"github.com/sirupsen/logrus"
	"k8s.io/utils/clock"
)

// An operator whose token had just expired ended by itself.
func TestPoliciesAreWatchedInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := logrus.New()
		log.SetOutput(io.Discard)
		ctx, cancel := context.WithCancel(t.Context())
		tries, good := 0, 3
		w := &worker{Options: Options{Log: log, Clock: clock.RealClock{}}, clients: clients{
			start: func(context.Context) error {
				if tries++; tries == good {
					return nil
				}
				return errors.New("refused")
			},
		}}
		w.startCaches(ctx)
		if tries != good {
			t.Errorf("tried %d times", tries)
		}
		tries, good = 0, -1
		ended := make(chan struct{})
		go func() { w.startCaches(ctx); close(ended) }()
		synctest.Wait()
		cancel()
		<-ended
		if tries != 1 {
			t.Errorf("tried %d times until the operator ended", tries)
		}
	})
}
