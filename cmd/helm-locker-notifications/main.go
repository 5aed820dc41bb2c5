// helm-locker-notifications sends what operators do to the receivers of its flags. It is a program of its own: its
// templates keep all exported methods in a program, which costs the operator's a third of its size.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// The first signal asks for a clean end; a second one, with the handler gone, ends the process at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args, os.Stdout, os.Stderr))
}
