package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/plain"
)

// comparedFlags are the flags that select the comparison.
func comparedFlags() []cli.Flag {
	return append(slices.Concat(baselineFlags(), severityFlags()),
		allNamespacesFlag(), allowEmptyFlag(),
		selectorFlag("only releases"),
		&cli.BoolFlag{Name: "strict", Category: categoryWhat,
			Usage: "also show what others added beside what the release declares; the default for a release that a HelmRelease locks with scope Strict"},
		&cli.BoolFlag{Name: "no-ignore", Category: categoryWhat,
			Usage: "compare what the ignore rules of the release's HelmRelease leave alone, too"},
		helmReleaseNamespaceFlag(),
	)
}

// checkCompared refuses ambiguous combinations of comparedFlags.
func checkCompared(a *action) error {
	names := a.cmd.Args().Slice()
	if len(names) > 0 && a.cmd.String("selector") != "" {
		return a.misused(errors.New("names of releases and --selector exclude each other"))
	}
	scoped := slices.IndexFunc(names, func(name string) bool { return strings.Contains(name, "/") })
	if scoped >= 0 && a.cmd.Bool("all-namespaces") {
		return a.misused(errTwoScopes(names[scoped]))
	}
	return checkBaseline(a)
}

// compareAll compares the releases that targets returns for a cluster, passes the results to write, and returns the
// error for the exit code. targets also returns the namespace whose releases are selected; empty for all.
func compareAll(
	ctx context.Context, a *action,
	targets func(context.Context, *action) (inspect.Source, string, []candidate, error),
	write func([]located[gathered]) error,
) error {
	known, err := openBaseline(a)
	if err != nil {
		return err
	}
	all, err := readContexts(ctx, a, func(a *action) (*gathered, error) {
		source, namespace, releases, err := targets(ctx, a)
		if err != nil {
			return nil, err
		}
		found, err := gather(ctx, a, source, releases)
		if err != nil {
			return nil, err
		}
		c, live := source.(*connection)
		if found.namespace = namespace; live {
			found.host = c.host
		}
		if len(found.comparisons)+len(found.failed) == 0 {
			return found, a.empty(ctx, c, found.notCompared(a.cmd.String(selectorName), namespace), namespace)
		}
		return found, nil
	})
	if err != nil {
		return err
	}
	known.leaveOutAll(all)
	if err := write(all); err != nil {
		return err
	}
	noteHidden(a, all)
	return known.finish(exitOfCompared(a, all))
}

// notCompared is the error of a command that compared no release of a namespace, or of all when it is empty.
func (g *gathered) notCompared(selector, namespace string) error {
	switch {
	case len(g.leftOut) > 0:
		return errors.New("no release was compared: none has a deployed revision")
	case selector != "":
		return fmt.Errorf("there is no release to compare%s with labels %s", inNamespace(namespace), selector)
	}
	return fmt.Errorf("there is no release to compare%s", inNamespace(namespace))
}

// exitOfCompared returns the error for the exit code of diff and report; nil when everything is as declared.
func exitOfCompared(a *action, all []located[gathered]) error {
	for i := range all {
		if l := &all[i]; l.err == nil {
			l.err = l.read.exit()
		}
	}
	return exitOf(a, all)
}

// exit returns the error for the exit code of diff and report; nil without drift of the severity of --fail-on.
func (g *gathered) exit() error {
	switch {
	case len(g.failed) > 0 || slices.ContainsFunc(g.comparisons, isIncomplete):
		return &command.ExitError{Code: command.ExitFailed}
	case slices.ContainsFunc(g.comparisons, g.ratings.fails):
		return &command.ExitError{Code: command.ExitFound}
	}
	return nil
}

// noteHidden names the effect of HelmReleases that could not be read: possible false drift, and unknown locks.
func noteHidden(a *action, all []located[gathered]) {
	namespace := a.cmd.String("helmrelease-namespace")
	for _, l := range all {
		found := l.read
		if found == nil || found.hidden == nil || !slices.ContainsFunc(found.comparisons, hasDrifted) {
			continue
		}
		text := fmt.Sprintf("note: what a lock leaves alone is compared, too: %v", found.hidden)
		if apierrors.IsForbidden(found.hidden) {
			text = fmt.Sprintf("note: you may not list HelmReleases in namespace %s, so what a lock leaves alone is compared, too",
				namespace)
		}
		a.noteIn(l.Name, plain.Line(text)+"\n")
	}
}
