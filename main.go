// helm-locker-operator has the processes that run in a cluster: it makes Helm the only way to change the objects of a
// Helm release.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	_ "time/tzdata" // the image has no time zones, and spec.windows name them

	"github.com/rancher/helm-locker/pkg/daemon"
)

// gcPercent is the growth of the heap, in percent, between two garbage collections, unless GOGC sets it. With Go's
// default of 100 the operator holds 13 MiB more after the storms of the benchmark.
const gcPercent = 50

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	// The first signal asks for a clean end; a second one, with the handler gone, ends the process at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(daemon.Main(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr))
}
