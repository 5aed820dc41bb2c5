package kit

import (
	"context"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// RunOperator is StartOperator for an operator that is expected to end by itself: the channel receives the error of
// operator.Run once.
func RunOperator(
	t testing.TB, config *rest.Config, namespace string, options ...func(*operator.ControllerOptions),
) <-chan error {
	t.Helper()
	log, err := operator.NewLogger(&logBuffer{}, "info", "text")
	check.NoError(t, err)
	o := operator.ControllerOptions{ClientConfig: clientConfig{config}, Namespace: namespace,
		ControllerName: namespace, Log: log}
	for _, option := range options {
		option(&o)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended, done := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(ended)
		done <- operator.Run(ctx, o)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	return done
}
