// Model checks the protocols of the operator with SPIN: order.pml and elsewhere.pml are the proof of the promise
// "never revert Helm" (I1), ownership.pml that of "as Helm left it" (I4), handover.pml the transfer of a release from
// one HelmRelease to another (I5), trust.pml that a forged record gains its writer nothing (I14). variants.go lists the
// runs. README.md describes the limits of the models.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "model:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has run
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("model", flag.ContinueOnError)
	only := flags.String("run", "", "run only the variants whose name matches this regular expression")
	trail := flags.Bool("trail", false, "print the steps of the counterexamples that are found")
	if err := flags.Parse(args); err != nil {
		return err
	}
	match, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	tools, err := findTools()
	if err != nil {
		return err
	}
	return check(ctx, tools, match, *trail, out)
}

// check runs the variants that match, writes a line about each, and returns an error when one had an unexpected
// result.
func check(ctx context.Context, t tools, match *regexp.Regexp, trail bool, out io.Writer) error {
	begun, ran, surprises := time.Now(), 0, 0
	for _, v := range variants() {
		if !match.MatchString(v.name) {
			continue
		}
		ran++
		result, err := t.run(ctx, v, trail)
		if err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
		verdict := "as expected"
		if !v.expected(result) {
			surprises++
			verdict = "SURPRISE, expected: " + v.expect
		}
		if _, err := fmt.Fprintf(out, "%-34s %-44s %10d states %5.1f s  %s\n", v.name, result.found(), result.states,
			result.took.Seconds(), verdict); err != nil {
			return err
		}
		if trail && result.trail != "" {
			if _, err := fmt.Fprintln(out, result.trail); err != nil {
				return err
			}
		}
	}
	switch {
	case ran == 0:
		return fmt.Errorf("no variant matches %q", match)
	case surprises > 0:
		return fmt.Errorf("%d of %d variants did not end as expected", surprises, ran)
	}
	_, err := fmt.Fprintf(out, "%d variants in %s, all as expected\n", ran, time.Since(begun).Round(time.Second))
	return err
}
