// Package kit is the shared fixture of the operator's tests: an operator in this process against a control plane,
// releases made by real Helm, and helpers to wait for and inspect their state.
package kit

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/pkg/policies"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/process"
)

// Operator is an operator in this process, optionally with the process of policies beside it.
type Operator struct {
	t    testing.TB
	ctx  context.Context
	stop context.CancelFunc
	done chan struct{}
	err  error
	log  *LogBuffer
	// Policies is nil without that process. It stops with the operator.
	Policies *Operator
}

// StartOperator starts an operator with a client configuration. It manages the HelmReleases of namespace, and logs at
// trace level. It is stopped at the end of the test; an operator that ends by itself fails the test. Without further
// options it leads at once and serves nothing.
func StartOperator(
	t testing.TB, config *rest.Config, namespace string, options ...func(*operator.ControllerOptions),
) *Operator {
	t.Helper()
	op := newOperator(t)
	o := op.options(config, namespace, options)
	return op.start(func() error { return operator.Run(op.ctx, o) })
}

// start runs a program in the background.
func (o *Operator) start(run func() error) *Operator {
	go func() {
		defer close(o.done)
		o.err = run()
	}()
	return o
}

// StartWithPolicies is StartOperator, with the process of policies beside the operator: it has the same options.
func StartWithPolicies(
	t testing.TB, config *rest.Config, namespace string, options ...func(*operator.ControllerOptions),
) *Operator {
	t.Helper()
	op := StartOperator(t, config, namespace, options...)
	op.Policies = StartPolicies(t, config, namespace, options...)
	return op
}

// StartPolicies starts only the process of policies, with the options for an operator beside it.
func StartPolicies(
	t testing.TB, config *rest.Config, namespace string, options ...func(*operator.ControllerOptions),
) *Operator {
	t.Helper()
	op := newOperator(t)
	o := policiesOptions(op.options(config, namespace, options))
	return op.start(func() error { return policies.Run(op.ctx, o) })
}

// policiesOptions returns the options of the process of policies beside an operator.
func policiesOptions(o operator.ControllerOptions) policies.Options {
	return policies.Options{
		ClientConfig: o.ClientConfig, Namespace: o.Namespace, ControllerName: o.ControllerName,
		ShardSelector: o.ShardSelector, ReleaseStorage: o.ReleaseStorage, Impersonate: o.Impersonate,
		Witnessed:      o.TrustRecords == operator.TrustWitnessed,
		MetricsAddress: o.MetricsAddress, MetricsHosts: o.MetricsHosts, MetricsAuth: o.MetricsAuth,
		LeaderElection: o.LeaderElection, LeaseDuration: o.LeaseDuration, Log: o.Log, Clock: o.Clock,
	}
}

// Supervise is StartOperator for an operator that may end by itself: it is restarted at once, as a kubelet restarts
// it later. ended is called with each error.
func Supervise(
	t testing.TB, config *rest.Config, namespace string, ended func(error),
	options ...func(*operator.ControllerOptions),
) *Operator {
	t.Helper()
	op := newOperator(t)
	o := op.options(config, namespace, options)
	return op.start(op.again(func() error { return operator.Run(op.ctx, o) }, ended))
}

// SupervisePolicies is Supervise for the process of policies.
func SupervisePolicies(
	t testing.TB, config *rest.Config, namespace string, ended func(error),
	options ...func(*operator.ControllerOptions),
) *Operator {
	t.Helper()
	op := newOperator(t)
	o := policiesOptions(op.options(config, namespace, options))
	return op.start(op.again(func() error { return policies.Run(op.ctx, o) }, ended))
}

// again restarts a program until the operator is stopped.
func (o *Operator) again(run func() error, ended func(error)) func() error {
	return func() error {
		for o.ctx.Err() == nil {
			if err := run(); err != nil {
				ended(err)
			}
		}
		return nil
	}
}

// RunOperator is StartOperator for an operator that is expected to end by itself: the channel receives the error of
// operator.Run once.
func RunOperator(
	t testing.TB, config *rest.Config, namespace string, options ...func(*operator.ControllerOptions),
) <-chan error {
	t.Helper()
	op, ended := newOperator(t), make(chan error, 1)
	o := op.options(config, namespace, options)
	op.start(func() error {
		ended <- operator.Run(op.ctx, o)
		return nil
	})
	return ended
}

// newOperator returns an Operator before its run, and registers its stop at the end of the test.
func newOperator(t testing.TB) *Operator {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	op := &Operator{t: t, ctx: ctx, stop: stop, done: make(chan struct{}), log: &LogBuffer{}}
	t.Cleanup(func() {
		op.Stop()
		if t.Failed() {
			t.Logf("log of the operator:\n%s", tail(op.Log(), 8000))
		}
	})
	return op
}

func (o *Operator) options(
	config *rest.Config, namespace string, options []func(*operator.ControllerOptions),
) operator.ControllerOptions {
	o.t.Helper()
	log, err := operator.NewLogger(o.log, "trace", "text")
	check.NoError(o.t, err)
	all := operator.ControllerOptions{ClientConfig: clientConfig{config}, Namespace: namespace,
		ControllerName: namespace, Log: log}
	for _, option := range options {
		option(&all)
	}
	if os.Getenv("HELM_LOCKER_TRUST") == operator.TrustWitnessed && !all.Impersonate && all.TrustRecords == "" &&
		all.Guard == (operator.GuardOptions{}) {
		o.witness(&all)
	}
	if all.Impersonate && Shared != nil {
		check.NoError(o.t, Shared.Impersonates(namespace))
	}
	return all
}

// witness has an operator enforce trusted records only, and the API server ask it about records.
func (o *Operator) witness(all *operator.ControllerOptions) {
	o.t.Helper()
	address, err := process.FreeAddress()
	check.NoError(o.t, err)
	all.TrustRecords = operator.TrustWitnessed
	all.Guard = operator.GuardOptions{Address: address, URL: "https://" + address}
}

// Stop stops the operator and waits until it has ended. It may be called more than once.
func (o *Operator) Stop() {
	o.t.Helper()
	select {
	case <-o.done:
		check.That(o.t, o.err == nil, "operator ended by itself: %v", o.err)
	default:
	}
	o.stop()
	if o.Policies != nil {
		o.Policies.Stop()
	}
	select {
	case <-o.done:
	case <-time.After(time.Minute):
		o.t.Fatal("operator did not stop within a minute")
	}
}

// StopWhileHeld stops the operator while it waits for a held request, releases the request once the operator has
// begun to stop (it has no more watches through proxy), and waits for its end.
func (e *Env) StopWhileHeld(o *Operator, proxy *cluster.Proxy, hold *cluster.Hold) {
	e.Helper()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		o.Stop()
	}()
	e.Until("the operator is stopping", func() (any, bool) {
		n := proxy.Watches(nil)
		return n, n <= 0
	})
	hold.Release()
	<-stopped
}

// Log returns the operator's log so far.
func (o *Operator) Log() string { return o.log.String() }

// Metrics returns the metrics of an operator as they are now. It must have been started with the
// MetricsAddress 127.0.0.1:0.
func Metrics(t testing.TB, o *Operator) string {
	t.Helper()
	found := regexp.MustCompile(`metrics on (127\.0\.0\.1:\d+)`).FindStringSubmatch(o.Log())
	check.Must(t, found != nil, "the log does not say where metrics are served")
	_, text := HTTPGet(t, "http://"+found[1]+"/metrics", "")
	return text
}

// Done is closed when the operator has ended; Err then returns the reason.
func (o *Operator) Done() <-chan struct{} { return o.done }

// Err returns the error of operator.Run; call it after Done is closed.
func (o *Operator) Err() error { return o.err }

// LogBuffer is a buffer for several goroutines.
type LogBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write appends to the buffer.
func (b *LogBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// String returns the content so far.
func (b *LogBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return fmt.Sprintf("... (%d bytes before)\n%s", len(s)-n, s[len(s)-n:])
}

// clientConfig adapts a rest.Config to operator.Run.
type clientConfig struct{ config *rest.Config }

func (c clientConfig) ClientConfig() (*rest.Config, error) { return rest.CopyConfig(c.config), nil }

func (c clientConfig) RawConfig() (clientcmdapi.Config, error) { return clientcmdapi.Config{}, nil }

func (c clientConfig) Namespace() (string, bool, error) { return "default", false, nil }

func (c clientConfig) ConfigAccess() clientcmd.ConfigAccess { return nil }
