// helm-locker shows and changes what is locked, for people.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/rancher/helm-locker/pkg/cli"
)

func main() {
	// The first signal asks for a clean end; a second one, with the handler gone, ends the process at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(cli.Main(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr))
}
