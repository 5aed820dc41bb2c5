// Command cluster-cmd runs a control plane outside of tests, for the demo and for experiments.
//
//	up        build the missing programs and start a detached control plane, with its files in .cluster
//	down      stop it and remove .cluster
//	build     only build the binaries
//	versions  build the missing programs, and print the versions of Kubernetes, etcd and Helm, as JSON
//
// The Makefile calls it by cluster-up and cluster-down.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/rancher/helm-locker/tests/lib/cluster"
)

const startTimeout = 2 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run executes one command; results go to out and progress to log.
func run(ctx context.Context, args []string, out, log io.Writer) error {
	if len(args) != 1 {
		return errors.New("usage: cluster-cmd up|down|build|versions")
	}
	root, err := cluster.Root()
	if err != nil {
		return err
	}
	dir := filepath.Join(root, ".cluster")
	switch args[0] {
	case "up":
		return up(ctx, root, dir, out, log)
	case "down":
		return cluster.Down(dir)
	case "build":
		_, err := cluster.Build(ctx, log)
		return err
	case "versions":
		binaries, err := cluster.Build(ctx, log)
		if err != nil {
			return err
		}
		versions, err := binaries.Versions(ctx)
		if err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(versions)
	default:
		return fmt.Errorf("unknown command %q: want up, down, build or versions", args[0])
	}
}

func up(ctx context.Context, root, dir string, out, log io.Writer) error {
	binaries, err := cluster.Build(ctx, log)
	if err != nil {
		return err
	}
	running, err := cluster.Running(dir)
	if err != nil {
		return err
	}
	if running {
		fmt.Fprintln(log, "a control plane is running already")
		return instructions(out, root, dir, binaries)
	}
	// The files of a cluster that ended otherwise, by a reboot for example. Down refuses to remove anything else.
	if err := cluster.Down(dir); err != nil {
		return err
	}
	started := time.Now()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if _, err := cluster.Start(ctx, cluster.Options{Dir: dir, ControllerManager: true, Detach: true,
		Log: log}); err != nil {
		// The error quotes the logs; the remaining files would only block the next attempt.
		return errors.Join(err, os.RemoveAll(dir))
	}
	// The directory holds keys: it must never be committed.
	if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o600); err != nil {
		return fmt.Errorf("write .gitignore: %w", err)
	}
	fmt.Fprintf(log, "started in %s\n", time.Since(started).Round(100*time.Millisecond))
	return instructions(out, root, dir, binaries)
}
