// Command mutants shows that the tests of the promises (I1 to I14) fail when a promise is broken. Its lists have one
// mutant for each mechanism that keeps a promise: a declaration, a change of it at one symbol, and the tests that must
// fail. A test that still passes does not verify its promise.
//
// It writes nothing in the tree: the changed copy of a file lies in a temporary directory and replaces the original
// through the -overlay flag of the Go command. The tests of a package first run unchanged and must pass. Then every
// mutant is built and its tests run. The exit code is 0 when each of them ended in a failed test. A mutant that does
// not build, crashes, or makes its tests time out proves nothing and counts as a failure.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"syscall"
)

func main() {
	run := flag.String("run", "", "only the mutants of which \"promise description package tests\" matches this "+
		"`regexp`, as in '^I2 ' or tests/order")
	list := flag.Bool("list", false, "list the mutants and run nothing")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "mutants: unexpected argument %q; -run chooses mutants\n", flag.Arg(0))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := start(ctx, *run, *list)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func start(ctx context.Context, run string, list bool) error {
	selected, err := regexp.Compile(run)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	chosen := slices.DeleteFunc(mutants(), func(m mutant) bool {
		return !selected.MatchString(m.String() + " " + m.pkg + " " + m.run)
	})
	if len(chosen) == 0 {
		return errors.New("no mutant matches -run")
	}
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	p, err := load(ctx, root, chosen)
	if err != nil {
		return err
	}
	if err := validate(root, p, chosen); err != nil {
		return err
	}
	if list {
		for _, m := range chosen {
			fmt.Printf("%s\n     %s -run '%s'\n", m, m.pkg, m.run)
			for _, f := range m.faults {
				fmt.Printf("     %s\n", f)
			}
		}
		return nil
	}
	dir, err := os.MkdirTemp("", "helm-locker-mutants-")
	if err != nil {
		return err
	}
	r := &runner{root: root, dir: dir, program: p, out: os.Stdout}
	return errors.Join(r.all(ctx, chosen), os.RemoveAll(dir))
}
