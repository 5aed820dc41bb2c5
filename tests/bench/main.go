package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// errMissed is what a run ends with whose figures miss a target.
var errMissed = errors.New("a target was missed")

// options are the sizes of a run and what becomes of its result.
type options struct {
	rounds, deletions, warmUp     int
	objects, releases             int
	storms, tamperers             int
	burst                         int
	unrelated                     int
	churnRate                     int
	churnTime                     time.Duration
	rest                          time.Duration
	short, targets                bool
	json, operator, profiles, log string
}

func parse(args []string) (options, error) {
	o := options{}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.IntVar(&o.rounds, "rounds", 300, "single drifts, and as many on one object (at most 590: more of them in a minute count as a fight)")
	f.IntVar(&o.deletions, "deletions", 100, "single deletions")
	f.IntVar(&o.warmUp, "warm-up", 10, "rounds before those that count")
	f.IntVar(&o.objects, "objects", 1000, "objects that are locked, and tampered with in a storm")
	f.IntVar(&o.releases, "releases", 40, "releases that these objects are in")
	f.IntVar(&o.storms, "storms", 3, "storms of either side")
	f.IntVar(&o.tamperers, "tamperers", 8, "requests at once that tamper in a storm")
	f.IntVar(&o.burst, "burst", 500, "objects of one release that drift at once")
	f.IntVar(&o.unrelated, "unrelated", 10000, "Secrets and ConfigMaps that belong to no release")
	f.IntVar(&o.churnRate, "churn-rate", 500, "status updates per second on locked Deployments")
	f.DurationVar(&o.churnTime, "churn-time", 10*time.Second, "how long the status updates go on")
	f.DurationVar(&o.rest, "rest", 5*time.Second, "how long the operator rests before its memory is read")
	f.BoolVar(&o.short, "short", false, "small numbers where no flag says otherwise")
	f.BoolVar(&o.targets, "targets", true, "exit with 1 when a target is missed")
	f.StringVar(&o.json, "json", "", "file to write the result to, as JSON")
	f.StringVar(&o.operator, "operator", "", "operator to measure instead of one built from this tree")
	f.StringVar(&o.profiles, "profiles", "", "directory for the operator's profiles (needs localhost:6060; costs a little speed)")
	f.StringVar(&o.log, "operator-log", "", "file for the operator's log")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unknown argument %q", f.Arg(0))
	}
	if o.short {
		o.shorten(f)
	}
	if o.releases < 1 || o.objects < o.releases || o.burst < 1 || o.rounds < 1 || o.deletions < 1 || o.storms < 1 || o.tamperers < 1 {
		return o, errors.New("sizes must be positive, with at least one object for each release")
	}
	return o, nil
}

// shorten makes the run short, except where a flag was given.
func (o *options) shorten(f *flag.FlagSet) {
	given := map[string]bool{}
	f.Visit(func(fl *flag.Flag) { given[fl.Name] = true })
	for name, small := range map[string]struct {
		n  *int
		to int
	}{
		"rounds": {&o.rounds, 60}, "deletions": {&o.deletions, 20}, "objects": {&o.objects, 200}, "releases": {&o.releases, 8},
		"storms": {&o.storms, 2}, "burst": {&o.burst, 100}, "unrelated": {&o.unrelated, 1000},
	} {
		if !given[name] {
			*small.n = small.to
		}
	}
	if !given["churn-time"] {
		o.churnTime = 4 * time.Second
	}
	if !given["rest"] {
		o.rest = 2 * time.Second
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	err := run(ctx, os.Args[1:])
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintln(os.Stderr, "bench:", err)
	os.Exit(1)
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	result, err := measure(ctx, o)
	if err != nil {
		return err
	}
	if err := result.print(os.Stdout); err != nil {
		return err
	}
	if o.json != "" {
		content, err := json.MarshalIndent(result, "", "  ")
		if err != nil {
			return fmt.Errorf("encode the result: %w", err)
		}
		if err := os.WriteFile(o.json, append(content, '\n'), 0o644); err != nil {
			return fmt.Errorf("write the result: %w", err)
		}
	}
	if o.targets && result.missed() {
		return errMissed
	}
	return nil
}
