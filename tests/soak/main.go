package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/rancher/helm-locker/tests/oracle"
)

// options are the duration and the load of a run.
type options struct {
	duration time.Duration // of load, without the proofs
	round    time.Duration
	seed     uint64
	releases int
}

// errFailed ends a run with a failure.
var errFailed = errors.New("the soak failed, see the report")

func parse(args []string) (options, error) {
	o := options{}
	f := flag.NewFlagSet("soak", flag.ContinueOnError)
	f.DurationVar(&o.duration, "duration", 30*time.Minute, "how long there is load, the proofs between not counted")
	f.DurationVar(
		&o.round, "round", 0, "how long until everything has to be as it should be (a tenth of the duration, between "+
			"20 s and 2 m, when 0)",
	)
	f.Uint64Var(&o.seed, "seed", 0, "seed of the random choices; by the clock when 0")
	f.IntVar(&o.releases, "releases", 4, "number of releases, of Helm 3 and 4 by turns")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unknown argument %q", f.Arg(0))
	}
	if o.duration <= 0 || o.round < 0 || o.releases < 1 {
		return o, errors.New("durations and numbers must be positive")
	}
	if o.round == 0 {
		o.round = min(max(o.duration/10, 20*time.Second), 2*time.Minute)
	}
	if o.seed == 0 {
		o.seed = uint64(time.Now().UnixNano())
	}
	return o, nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintln(os.Stderr, "soak:", err)
	os.Exit(1)
}

// recordings is the variable with the directory in which control planes record for the oracle.
const recordings = "HELM_LOCKER_RECORDINGS"

// judged makes one run, and has the oracle judge its recording: where the variable is set, another program does that.
func judged(ctx context.Context, o options, r *report, out, log io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "helm-locker-soak-")
	if err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if os.Getenv(recordings) != "" {
		return soak(ctx, o, r, dir, log)
	}
	if err := os.Setenv(recordings, dir); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	if err := soak(ctx, o, r, dir, log); err != nil {
		return err
	}
	violations, err := oracle.Judge(dir, out)
	if violations > 0 {
		r.fail("%d promises were broken, as the oracle reports above", violations)
	}
	return err
}

// run makes one run; the report goes to out and progress to log.
func run(ctx context.Context, args []string, out, log io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "soak: %s of load in rounds of %s, seed %d\n", o.duration, o.round, o.seed)
	r := &report{seed: o.seed, counts: map[string]int{}}
	err = judged(ctx, o, r, out, log)
	if printErr := r.print(out); printErr != nil {
		return printErr
	}
	if err == nil && len(r.failures) > 0 {
		return errFailed
	}
	return err
}
