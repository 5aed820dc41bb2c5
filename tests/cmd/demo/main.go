// Command demo demonstrates helm-locker on a real control plane. It builds, starts and removes the control plane. Two
// charts are installed by Helm 3 and Helm 4 and locked, then tampered with in several ways, upgraded, rolled back,
// suspended and uninstalled; a forged release record gains its writer nothing. The demo uses kubectl, helm and the
// helm-locker program, as a user does; its own watch measures the effects. It writes nothing outside a temporary
// directory and the cache of binaries.
//
// The exit code is 0 when every change was reverted and no Helm operation was disturbed.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// errFailed ends a demo with an unexpected result; the summary names it.
var errFailed = errors.New("not everything went as it should; see the summary")

func main() {
	// The first signal has everything stopped and removed; a second one ends the program at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	err := run(ctx, newScreen(os.Stdout))
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "demo: interrupted; everything is stopped and removed")
		os.Exit(130)
	case err != nil:
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}
