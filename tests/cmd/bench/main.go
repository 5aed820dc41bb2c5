package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// errMissed ends a run with a missed target.
var errMissed = errors.New("targets were missed")

// options are the sizes of a run and the outputs of its result.
type options struct {
	sizes
	targets                  bool
	docs, operator, profiles string
	chosen                   []string // sections
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

// sizes are those of a full or of a quick run.
type sizes struct {
	Quick     bool `json:"quick"`
	Rounds    int  `json:"rounds"`    // single drifts, and as many on one object after another
	Deletions int  `json:"deletions"` // single deletions
	Objects   int  `json:"objects"`   // that are locked, and tampered with in a storm
	Releases  int  `json:"releases"`  // that these objects are in
	Storms    int  `json:"storms"`    // of either side
	Burst     int  `json:"burst"`     // objects of one release that drift at once
	Upgrades  int  `json:"upgrades"`  // of a release of 40 objects, half of them by Helm 3 and half by Helm 4
	History   int  `json:"history"`   // releases that get a history
	Unrelated int  `json:"unrelated"` // Secrets and ConfigMaps that belong to no release

	Scale      []int `json:"scale"`      // numbers of releases between which cost is compared, ascending
	PerRelease int   `json:"perRelease"` // objects in each of these

	Failovers int           `json:"failovers"` // leaders that are stopped
	Kills     int           `json:"kills"`     // leaders that are killed
	Lease     time.Duration `json:"lease"`     // of these

	DriftTime time.Duration `json:"driftTime"` // of a steady stream of drifts
	ChurnTime time.Duration `json:"churnTime"` // of status updates
	Rest      time.Duration `json:"rest"`      // before a measurement of memory
}

func sizesOf(quick bool) sizes {
	if quick {
		return sizes{Quick: true, Rounds: 40, Deletions: 15, Objects: 200, Releases: 8, Storms: 1, Burst: 100,
			Upgrades: 8, History: 10, Unrelated: 1000, Scale: []int{5, 20, 80}, PerRelease: 10, Failovers: 2, Kills: 1,
			Lease: 2 * time.Second, DriftTime: 4 * time.Second, ChurnTime: 4 * time.Second, Rest: 2 * time.Second}
	}
	return sizes{Rounds: 300, Deletions: 60, Objects: 5000, Releases: 200, Storms: 2, Burst: 500, Upgrades: 60,
		History: 200, Unrelated: 10000, Scale: []int{10, 100, 1000}, PerRelease: 50, Failovers: 5, Kills: 2,
		Lease: 5 * time.Second, DriftTime: 12 * time.Second, ChurnTime: 10 * time.Second, Rest: 5 * time.Second}
}

func parse(args []string) (options, error) {
	o := options{chosen: sectionNames()}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	only := f.String("only", "", "sections to run, separated by commas: "+strings.Join(o.chosen, ", "))
	quick := f.Bool("quick", false, "small numbers")
	f.BoolVar(&o.targets, "targets", true, "exit with 1 when a target is missed")
	f.StringVar(&o.docs, "docs", "", "directory to document the result in: "+
		strings.Join([]string{resultFile, pageFile, fleetFile}, ", "))
	f.StringVar(&o.operator, "operator", "", "operator to measure instead of one built from this tree")
	f.StringVar(&o.profiles, "profiles", "", "directory for the operator's profiles (needs localhost:6060; costs a "+
		"little speed)")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unknown argument %q", f.Arg(0))
	}
	o.sizes = sizesOf(*quick)
	if *only == "" {
		return o, nil
	}
	all := o.chosen
	o.chosen = strings.Split(*only, ",")
	for _, name := range o.chosen {
		if position(name) < 0 {
			return o, fmt.Errorf("-only: no section %q; there are %s", name, strings.Join(all, ", "))
		}
	}
	return o, nil
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
	r, err := measure(ctx, o)
	if err != nil {
		return err
	}
	if err := r.print(os.Stdout); err != nil {
		return err
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
