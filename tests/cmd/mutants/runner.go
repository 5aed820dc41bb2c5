package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// testTimeout bounds the tests of one mutant; those of the unchanged code get it for each mutant of the package.
const testTimeout = 5 * time.Minute

// patience is changed in every build, also of the unchanged code: most mutants are found by a test's timeout, so a
// shorter one saves time. The unchanged code passes with it.
var patience = in("tests/lib/kit", "patience").returns("15 * time.Second")

// runner builds and runs test programs, and keeps its files in a temporary directory.
type runner struct {
	root, dir string
	program   program
	out       io.Writer
}

func moduleRoot(ctx context.Context) (string, error) {
	mod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(mod))), nil
}

// all runs the tests of the mutants without any change, then each mutant, and reports those that are not killed.
func (r *runner) all(ctx context.Context, chosen []mutant) error {
	runs := map[string][]string{} // by package
	for _, m := range chosen {
		if !slices.Contains(runs[m.pkg], m.run) {
			runs[m.pkg] = append(runs[m.pkg], m.run)
		}
	}
	for pkg, runs := range runs {
		if err := r.unchanged(ctx, pkg, runs); err != nil {
			return err
		}
	}
	ctx, stop := context.WithCancel(ctx)
	builds := r.builds(ctx, chosen)
	defer func() {
		stop()
		for range builds { // its end is that of the goroutine behind it
		}
	}()
	var errs []error
	for _, m := range chosen {
		b, ok := <-builds
		if !ok {
			return ctx.Err()
		}
		began := time.Now()
		o, err := r.try(ctx, m, b)
		if err != nil {
			return fmt.Errorf("mutant %s: %w", m, err)
		}
		fmt.Fprintf(r.out, "%-8s %3.0fs  %s\n               %s\n", o.verdict, (b.took + time.Since(began)).Seconds(), m,
			o.line)
		if o.verdict != killed {
			errs = append(errs, fmt.Errorf("%s: %s: %s", o.verdict, m, o.line))
		}
	}
	fmt.Fprintf(r.out, "%d mutants: %d killed\n", len(chosen), len(chosen)-len(errs))
	return errors.Join(errs...)
}

// unchanged runs tests without a mutant; they must pass.
func (r *runner) unchanged(ctx context.Context, pkg string, runs []string) error {
	began := time.Now()
	b := r.build(ctx, "unchanged", pkg, patience)
	if b.err != nil {
		return fmt.Errorf("build the tests of %s: %w\n%s", pkg, b.err, b.output)
	}
	// An expression may have alternatives, each with levels of its own for subtests.
	output, err := r.test(ctx, b, pkg, strings.Join(runs, "|"), time.Duration(len(runs))*testTimeout)
	if err != nil {
		return fmt.Errorf("the tests of %s fail without any change: %w\n%s", pkg, err, output)
	}
	fmt.Fprintf(r.out, "%-8s %3.0fs  %s without any change (%d sets of tests)\n", "passed",
		time.Since(began).Seconds(), pkg, len(runs))
	return nil
}

// try runs the tests of one mutant. An error means that neither this nor any other mutant can be tried.
func (r *runner) try(ctx context.Context, m mutant, b built) (_ outcome, err error) {
	var exit *exec.ExitError
	if errors.As(b.err, &exit) {
		return outcome{broken, "it does not build: " + lastLine(b.output)}, ctx.Err()
	}
	if b.err != nil {
		return outcome{}, b.err
	}
	if m.judged {
		if b.recordings, err = os.MkdirTemp(r.dir, "recordings-"); err != nil {
			return outcome{}, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(b.recordings)) }()
	}
	output, err := r.test(ctx, b, m.pkg, m.run, testTimeout)
	if ctx.Err() != nil {
		return outcome{}, ctx.Err()
	}
	if err != nil && !errors.As(err, &exit) {
		return outcome{}, err
	}
	verdict := judge(output, err == nil)
	if m.judged && verdict.verdict == killed {
		return r.judge(ctx, b.recordings)
	}
	return verdict, nil
}

// judge runs the oracle over the recordings of the tests, which it has to find faulty as well.
func (r *runner) judge(ctx context.Context, recordings string) (outcome, error) {
	cmd := exec.CommandContext(ctx, "go", "run", "./tests/cmd/oracle", recordings)
	cmd.Dir = r.root
	output, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return outcome{}, fmt.Errorf("run the oracle: %w", err)
	}
	return verdictOfOracle(string(output)), ctx.Err()
}

// built is a test program in a directory of its own, or why there is none.
type built struct {
	dir, program string
	output       string
	err          error
	took         time.Duration
	// recordings is the directory for the recordings of its control planes; empty for none: CI judges no mutant.
	recordings string
}

// builds builds the mutants in order, one while the tests of the previous one run: those wait more than they work.
// The channel is closed after the last one, or when ctx ends.
func (r *runner) builds(ctx context.Context, chosen []mutant) <-chan built {
	out := make(chan built)
	go func() {
		defer close(out)
		for i, m := range chosen {
			select {
			case out <- r.build(ctx, fmt.Sprint(i), m.pkg, append(slices.Clone(m.faults), patience)...):
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// build builds the test program of a package with some faults.
func (r *runner) build(ctx context.Context, name, pkg string, faults ...fault) built {
	b := built{dir: filepath.Join(r.dir, name)}
	b.program = filepath.Join(b.dir, "tests")
	if b.err = os.Mkdir(b.dir, 0o700); b.err != nil {
		return b
	}
	changed, err := r.program.mutate(faults...)
	if err == nil {
		var overlay string
		if overlay, err = changed.overlay(b.dir); err == nil {
			return r.compile(ctx, b, overlay, pkg)
		}
	}
	b.err = err
	return b
}

// compile builds the test program of a package with an overlay.
func (r *runner) compile(ctx context.Context, b built, overlay, pkg string) built {
	began := time.Now()
	// Without debug information, which is not needed, linking is faster.
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-ldflags=-s -w", "-overlay", overlay, "-o", b.program, "./"+pkg)
	cmd.Dir = r.root
	text, err := cmd.CombinedOutput()
	b.output, b.err, b.took = string(text), err, time.Since(began)
	return b
}

// test runs tests of a program where `go test` would run it, and removes it. The first failed test is enough.
func (r *runner) test(ctx context.Context, b built, pkg, run string, timeout time.Duration) (string, error) {
	cmd := exec.CommandContext(ctx, b.program, "-test.run", run, "-test.failfast", "-test.timeout", timeout.String())
	cmd.Env = append(os.Environ(), "HELM_LOCKER_RECORDINGS="+b.recordings,
		"HELM_LOCKER_OVERLAY="+filepath.Join(b.dir, "overlay.json")) // for a test that reads the program's source
	cmd.Dir = filepath.Join(r.root, filepath.FromSlash(pkg))
	output, err := cmd.CombinedOutput()
	if removed := os.RemoveAll(b.dir); err == nil && removed != nil {
		err = fmt.Errorf("remove a test program: %w", removed)
	}
	return string(output), err
}
