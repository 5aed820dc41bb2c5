package cluster

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/klog/v2"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// startTimeout bounds the start of a control plane with existing binaries, on a busy machine.
const startTimeout = 2 * time.Minute

// ForTest builds the missing programs and starts a control plane until the end of the test. It fails the test, with
// the end of the logs, when the start fails or when a process ended by itself. With a nil Options.Log, progress goes
// to the standard error. With -short the test is skipped.
func ForTest(t testing.TB, options Options) *Cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	c, err := startFor(t.Context(), options)
	check.NoError(t, err)
	t.Cleanup(func() { check.Report(t, c.Stop()) })
	return c
}

// Main is for a TestMain whose tests share one control plane: it starts one, passes it to ready, runs the tests and
// stops it. The result is the exit code. With -short there is no control plane and ready is called with nil.
//
//	func TestMain(m *testing.M) {
//		os.Exit(cluster.Main(m, cluster.Options{}, func(c *cluster.Cluster) { shared = c }))
//	}
func Main(m interface{ Run() int }, options Options, ready func(*Cluster)) int {
	if short() {
		ready(nil)
		return m.Run()
	}
	c, err := startFor(context.Background(), options)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if !testing.Verbose() {
		quietLibraries()
	}
	ready(c)
	code := m.Run()
	if err := c.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

// quietLibraries discards the output of the process-wide loggers of lasso and client-go: hundreds of lines about
// ended watches would bury the output of a failed test.
func quietLibraries() {
	logrus.SetOutput(io.Discard)
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
}

func startFor(ctx context.Context, options Options) (*Cluster, error) {
	if options.Log == nil {
		options.Log = os.Stderr
	}
	// The build is left to the timeout of the tests: the first one on a machine takes minutes.
	if _, err := build(ctx, options.Log, options.Demo); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return Start(ctx, options)
}

// short returns whether -short is set; a TestMain runs before the flags are parsed.
func short() bool {
	if !flag.Parsed() {
		flag.Parse()
	}
	return testing.Short()
}
