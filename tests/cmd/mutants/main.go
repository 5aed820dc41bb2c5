// Command mutants shows that the tests of the promises (I1 to I13) fail when a promise is broken. Its list has one
// mutant for every way to break one: a text of a source file, its replacement, and the tests that must fail. A test
// that still passes does not verify its promise.
//
// It writes nothing in the tree: the changed copy of a file lies in a temporary directory and replaces the original
// through the -overlay flag of the Go command. The tests of a package first run unchanged and must pass. Then every
// mutant is built and its tests run. The exit code is 0 when each of them ended in a failed test. A mutant that does
// not build, crashes unintentionally, or makes its tests time out proves nothing and counts as a failure.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"
)

// errNotKilled ends a run with a surviving or untested mutant; the table names it.
var errNotKilled = errors.New("not every mutant was killed; see the table")

type options struct {
	chosen *regexp.Regexp
	list   bool
}

func parse(args []string, out io.Writer) (options, error) {
	f := flag.NewFlagSet("mutants", flag.ContinueOnError)
	f.SetOutput(out)
	run := f.String(
		"run", "", "only the mutants of which \"promise description package tests\" matches this `regexp`, as in "+
			"'^I2 ' or ./pkg/lock",
	)
	o := options{}
	f.BoolVar(&o.list, "list", false, "list the mutants and run nothing")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unknown argument %q", f.Arg(0))
	}
	var err error
	if o.chosen, err = regexp.Compile(*run); err != nil {
		return o, fmt.Errorf("-run: %w", err)
	}
	return o, nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := start(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func start(ctx context.Context, args []string) error {
	o, err := parse(args, os.Stderr)
	if err != nil {
		return err
	}
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	all := mutants()
	if err := check(root, all); err != nil {
		return err
	}
	var chosen []mutant
	for _, m := range all {
		if o.chosen.MatchString(m.String() + " " + m.pkg + " " + m.run) {
			chosen = append(chosen, m)
		}
	}
	if o.list {
		for _, m := range chosen {
			fmt.Printf("%-4s %-88s  %s\n     %s -run '%s'\n", m.promise, m.what, m.file, m.pkg, m.run)
		}
		return nil
	}
	if len(chosen) == 0 {
		return errors.New("no mutant matches -run")
	}
	// A new test of a promise has to be seen to fail as well.
	var bare []string
	if len(chosen) == len(all) {
		if bare, err = uncovered(root, all); err != nil {
			return err
		}
	}
	r, err := newRunner(root, os.Stdout)
	if err != nil {
		return err
	}
	results, err := r.all(ctx, chosen)
	if removed := r.close(); err == nil {
		err = removed
	}
	fmt.Println()
	printTable(os.Stdout, results)
	for _, name := range bare {
		fmt.Printf("no mutant is meant for %s\n", name)
	}
	if err != nil {
		return err
	}
	if len(bare) > 0 || !allKilled(results) {
		return errNotKilled
	}
	return nil
}
