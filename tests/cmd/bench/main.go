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

// errMissed ends a run with a missed target.
var errMissed = errors.New("targets were missed")

// options are the sizes of a run and the outputs of its result.
type options struct {
	only                         string
	rounds, deletions            int
	objects, releases            int
	storms, burst                int
	upgrades, unrelated, history int
	failovers, kills, perRelease int
	driftTime, churnTime         time.Duration
	lease, rest                  time.Duration
	scale                        string
	quick, targets               bool
	json, docs, before           string
	operator, profiles, log      string
	chosen                       []string
	sizes                        []int // of scale
}

// Sizes that are the same in every run.
const (
	warmUp    = 10  // rounds before those that count
	tamperers = 8   // requests at once that tamper in a storm
	driftRate = 200 // drifts per second on one release, sustained
	churnRate = 500 // status updates per second on locked Deployments
	revisions = 10  // of a release with a history
	payload   = 300 // KB of each of these
)

// number is a size set by a flag, with its defaults for a full and for a quick run.
type number struct {
	name        string
	value       *int
	full, quick int
	usage       string
}

func (o *options) numbers() []number {
	return []number{
		{"rounds", &o.rounds, 300, 40, "single drifts, and as many on one object after another"},
		{"deletions", &o.deletions, 60, 15, "single deletions"},
		{"objects", &o.objects, 5000, 200, "objects that are locked, and tampered with in a storm"},
		{"releases", &o.releases, 200, 8, "releases that these objects are in"},
		{"storms", &o.storms, 2, 1, "storms of either side"},
		{"burst", &o.burst, 500, 100, "objects of one release that drift at once"},
		{"upgrades", &o.upgrades, 60, 8, "upgrades by Helm of a release of 40 objects, half of them by Helm 3 and " +
			"half by Helm 4"},
		{"unrelated", &o.unrelated, 10000, 1000, "Secrets and ConfigMaps that belong to no release"},
		{"history", &o.history, 200, 10, "releases that get a history"},
		{"failovers", &o.failovers, 5, 2, "leaders that are told to stop"},
		{"kills", &o.kills, 2, 1, "leaders that are killed"},
		{"per-release", &o.perRelease, 50, 10, "objects in each of the releases of -scale"},
	}
}

func parse(args []string) (options, error) {
	o := options{driftTime: 12 * time.Second, churnTime: 10 * time.Second, lease: 5 * time.Second,
		rest: 5 * time.Second}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.StringVar(&o.only, "only", "", "sections to run, separated by commas: "+strings.Join(sectionNames(), ", "))
	for _, n := range o.numbers() {
		f.IntVar(n.value, n.name, n.full, n.usage)
	}
	f.StringVar(&o.scale, "scale", "10,100,1000", "numbers of releases between which cost is compared, ascending")
	f.BoolVar(&o.quick, "quick", false, "small numbers where no flag says otherwise")
	f.BoolVar(&o.targets, "targets", true, "exit with 1 when a target is missed")
	f.StringVar(&o.json, "json", "", "file to write the result to, as JSON")
	f.StringVar(&o.docs, "docs", "", "directory to document the result in: "+
		strings.Join([]string{resultFile, pageFile, latencyFile, scalingFile}, ", "))
	f.StringVar(&o.before, "before", "", "earlier result (JSON) to print beside this one")
	f.StringVar(&o.operator, "operator", "", "operator to measure instead of one built from this tree")
	f.StringVar(&o.profiles, "profiles", "", "directory for the operator's profiles (needs localhost:6060; costs a "+
		"little speed)")
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

// complete derives values from the flags, and validates them.
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
	if o.objects < o.releases {
		return errors.New("there must be at least one object for each release")
	}
	if slices.ContainsFunc(o.numbers(), func(n number) bool { return *n.value < 1 }) || o.upgrades < 2 {
		return errors.New("sizes must be positive, and upgrades at least two")
	}
	return nil
}

// shorten makes the run short, except where a flag was given.
func (o *options) shorten(f *flag.FlagSet) {
	given := map[string]bool{}
	f.Visit(func(fl *flag.Flag) { given[fl.Name] = true })
	for _, n := range o.numbers() {
		if !given[n.name] {
			*n.value = n.quick
		}
	}
	if !given["scale"] {
		o.scale = "5,20,80"
	}
	o.driftTime, o.churnTime, o.lease, o.rest = 4*time.Second, 4*time.Second, 2*time.Second, 2*time.Second
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
