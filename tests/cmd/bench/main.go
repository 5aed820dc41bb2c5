package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// errMissed is what a run ends with whose figures miss a target.
var errMissed = errors.New("targets were missed")

// options are the sizes of a run and what becomes of its result.
type options struct {
	only                        string
	rounds, deletions, warmUp   int
	objects, releases           int
	storms, tamperers           int
	burst                       int
	driftRate                   int
	driftTime                   time.Duration
	upgrades                    int
	unrelated                   int
	churnRate                   int
	churnTime                   time.Duration
	history, revisions, payload int
	failovers, kills            int
	lease                       time.Duration
	scale                       string
	perRelease                  int
	rest                        time.Duration
	quick, targets              bool
	json, docs, before          string
	operator, profiles, log     string
	chosen                      []string
	sizes                       []int // of scale
}

func parse(args []string) (options, error) {
	o := options{}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.StringVar(&o.only, "only", "", "sections to run, separated by commas: "+strings.Join(sectionNames(), ", "))
	f.IntVar(
		&o.rounds, "rounds", 300, "single drifts, and as many on one object (at most 590: more of them in a minute "+
			"count as a fight)",
	)
	f.IntVar(&o.deletions, "deletions", 60, "single deletions")
	f.IntVar(&o.warmUp, "warm-up", 10, "rounds before those that count")
	f.IntVar(&o.objects, "objects", 5000, "objects that are locked, and tampered with in a storm")
	f.IntVar(&o.releases, "releases", 200, "releases that these objects are in")
	f.IntVar(&o.storms, "storms", 2, "storms of either side")
	f.IntVar(&o.tamperers, "tamperers", 8, "requests at once that tamper in a storm")
	f.IntVar(&o.burst, "burst", 500, "objects of one release that drift at once")
	f.IntVar(&o.driftRate, "drift-rate", 200, "drifts per second on that release, sustained")
	f.DurationVar(&o.driftTime, "drift-time", 12*time.Second, "how long these go on")
	f.IntVar(
		&o.upgrades, "upgrades", 30, "upgrades by Helm of a release of 40 objects, half of them by Helm 3 and half "+
			"by Helm 4",
	)
	f.IntVar(&o.unrelated, "unrelated", 10000, "Secrets and ConfigMaps that belong to no release")
	f.IntVar(&o.churnRate, "churn-rate", 500, "status updates per second on locked Deployments")
	f.DurationVar(&o.churnTime, "churn-time", 10*time.Second, "how long the status updates go on")
	f.IntVar(&o.history, "history", 200, "releases that get a history")
	f.IntVar(&o.revisions, "revisions", 10, "revisions in that history")
	f.IntVar(&o.payload, "payload", 300, "size of each of these revisions in KB")
	f.IntVar(&o.failovers, "failovers", 5, "leaders that are told to stop")
	f.IntVar(&o.kills, "kills", 2, "leaders that are killed")
	f.DurationVar(&o.lease, "lease", 5*time.Second, "lease duration of the leaders that are killed")
	f.StringVar(&o.scale, "scale", "10,100,1000", "numbers of releases between which cost is compared, ascending")
	f.IntVar(&o.perRelease, "per-release", 50, "objects in each of these releases")
	f.DurationVar(&o.rest, "rest", 5*time.Second, "how long the operator rests before its memory is read")
	f.BoolVar(&o.quick, "quick", false, "small numbers where no flag says otherwise")
	f.BoolVar(&o.targets, "targets", true, "exit with 1 when a target is missed")
	f.StringVar(&o.json, "json", "", "file to write the result to, as JSON")
	f.StringVar(&o.docs, "docs", "", "directory to document the result in: "+
		strings.Join([]string{resultFile, pageFile, latencyFile, scalingFile}, ", "))
	f.StringVar(&o.before, "before", "", "earlier result (JSON) to print beside this one")
	f.StringVar(&o.operator, "operator", "", "operator to measure instead of one built from this tree")
	f.StringVar(
		&o.profiles, "profiles", "", "directory for the operator's profiles (needs localhost:6060; costs a little "+
			"speed)",
	)
	f.StringVar(&o.log, "operator-log", "", "file for the operator's log")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unknown argument %q", f.Arg(0))
	}
	if o.quick {
		o.shorten(f)
	}
	err := o.complete()
	return o, err
}

// complete works out what the flags mean, and whether it makes sense.
func (o *options) complete() error {
	o.chosen = sectionNames()
	if o.only != "" {
		o.chosen = strings.Split(o.only, ",")
		for _, name := range o.chosen {
			if position(name) < 0 {
				return fmt.Errorf("-only: no section %q; there are %s", name, strings.Join(sectionNames(), ", "))
			}
		}
	}
	for _, text := range strings.Split(o.scale, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || (len(o.sizes) > 0 && n <= o.sizes[len(o.sizes)-1]) {
			return fmt.Errorf("-scale: want ascending numbers separated by commas, got %q", o.scale)
		}
		o.sizes = append(o.sizes, n)
	}
	if o.releases < 1 || o.objects < o.releases {
		return errors.New("there must be at least one object for each release")
	}
	if slices.Min([]int{o.burst, o.rounds, o.deletions, o.storms, o.tamperers, o.driftRate, o.churnRate, o.history,
		o.revisions, o.payload, o.failovers, o.kills, o.perRelease}) < 1 || o.upgrades < 2 {
		return errors.New("sizes must be positive, and upgrades at least two")
	}
	return nil
}

// shorten makes the run short, except where a flag was given.
func (o *options) shorten(f *flag.FlagSet) {
	given := map[string]bool{}
	f.Visit(func(fl *flag.Flag) { given[fl.Name] = true })
	for name, small := range map[string]struct {
		n  *int
		to int
	}{
		"rounds": {&o.rounds, 40}, "deletions": {&o.deletions, 15}, "objects": {&o.objects, 200},
		"releases": {&o.releases, 8},
		"storms":   {&o.storms, 1}, "burst": {&o.burst, 100}, "unrelated": {&o.unrelated, 1000},
		"upgrades": {&o.upgrades, 6},
		"history":  {&o.history, 10}, "failovers": {&o.failovers, 2}, "kills": {&o.kills, 1},
		"per-release": {&o.perRelease, 10},
	} {
		if !given[name] {
			*small.n = small.to
		}
	}
	for name, small := range map[string]struct {
		d  *time.Duration
		to time.Duration
	}{
		"churn-time": {&o.churnTime, 4 * time.Second}, "drift-time": {&o.driftTime, 4 * time.Second},
		"lease": {&o.lease, 2 * time.Second}, "rest": {&o.rest, 2 * time.Second},
	} {
		if !given[name] {
			*small.d = small.to
		}
	}
	if !given["scale"] {
		o.scale = "5,20,80"
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
	var before *result
	if o.before != "" {
		if before, err = readResult(o.before); err == nil && before == nil {
			err = fmt.Errorf("-before: there is no %s", o.before)
		}
		if err != nil {
			return err
		}
	}
	r, err := measure(ctx, o)
	if err != nil {
		return err
	}
	if err := r.print(os.Stdout, before); err != nil {
		return err
	}
	if o.json != "" {
		if err := r.write(o.json); err != nil {
			return err
		}
	}
	if o.docs != "" {
		if err := r.document(o.docs); err != nil {
			return err
		}
	}
	if missed := r.missed(); o.targets && len(missed) > 0 {
		return fmt.Errorf("%w:\n  %s", errMissed, strings.Join(missed, "\n  "))
	}
	return nil
}
