// Command workload is the only program of the image for the Pods of tests/node.
//
//	workload           pauses until it is ended, as the container that holds the namespaces of a Pod does
//	workload serve     answers HTTP requests on port 8080 until it is ended
//	workload once      ends at once
//	workload write F   writes to a file, and pauses
//	workload burn      takes a fifth of a processor until it is ended
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	switch {
	case len(args) == 0:
	case args[0] == "serve":
		return serve(ctx)
	case args[0] == "once":
		return nil
	case args[0] == "burn":
		burn(ctx)
		return nil
	case args[0] == "write" && len(args) == 2:
		if err := os.WriteFile(args[1], []byte("written\n"), 0o600); err != nil {
			return err
		}
	default:
		return fmt.Errorf("unknown arguments %q", args)
	}
	<-ctx.Done()
	return nil
}

func burn(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		for begun := time.Now(); time.Since(begun) < 20*time.Millisecond; {
		}
		<-tick.C
	}
}

func serve(ctx context.Context) error {
	server := &http.Server{Addr: ":8080", ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		stopped <- server.Close()
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-stopped
}
