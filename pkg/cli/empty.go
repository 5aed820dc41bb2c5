package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/pkg/command"
)

const allowEmptyName = "allow-empty"

func allowEmptyFlag() cli.Flag {
	return &cli.BoolFlag{Name: allowEmptyName, Category: categoryWhat,
		Usage: "exit code 0 when nothing is selected, instead of 5"}
}

// empty returns the error of a command whose arguments and flags selected nothing: a misspelt name in a pipeline must
// not pass. The first of the namespaces that does not exist is the reason; an empty name stands for all namespaces.
// With --allow-empty the error is printed and not returned.
func (a *app) empty(ctx context.Context, cmd *cli.Command, c *connection, reason error, namespaces ...string) error {
	for _, namespace := range namespaces {
		if missing := c.missing(ctx, namespace); missing != nil {
			reason = missing
			break
		}
	}
	if cmd.Bool(allowEmptyName) {
		a.note("%v", reason)
		return nil
	}
	hints := append(slices.Clone(hintsFor(a.name, reason)), "--allow-empty accepts that")
	return &command.ExitError{Code: command.ExitEmpty, Err: command.Hinted(reason, hints...)}
}

// missing returns the error for a namespace that does not exist. A user without the right to get it cannot know that.
// An empty name stands for all namespaces.
func (c *connection) missing(ctx context.Context, name string) error {
	if name == "" || strings.ContainsAny(name, "*?[") { // all, or the pattern of a policy
		return nil
	}
	resource := corev1.SchemeGroupVersion.WithResource("namespaces")
	_, err := c.Dynamic.Resource(resource).Get(ctx, name, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return nil
	}
	return &command.ExitError{Code: command.ExitEmpty, Err: fmt.Errorf("namespace %q does not exist", name)}
}

// notCompared is the error of a command that compared no release of a namespace, or of all when it is empty.
func (g *gathered) notCompared(cmd *cli.Command, namespace string) error {
	switch selector := cmd.String("selector"); {
	case len(g.leftOut) > 0:
		return errors.New("no release was compared: none has a deployed revision")
	case selector != "":
		return fmt.Errorf("there is no release to compare%s with labels %s", inNamespace(namespace), selector)
	}
	return fmt.Errorf("there is no release to compare%s", inNamespace(namespace))
}

// orEmpty returns the results of a comparison in one cluster, with an error when nothing was compared. The namespace is
// the one whose releases were selected, empty for all.
func (a *app) orEmpty(
	ctx context.Context, cmd *cli.Command, c *connection, namespace string, found *gathered,
) (*gathered, error) {
	found.namespace = namespace
	if c != nil {
		found.host = c.host
	}
	if len(found.comparisons)+len(found.failed) == 0 {
		return found, a.empty(ctx, cmd, c, found.notCompared(cmd, namespace), namespace)
	}
	return found, nil
}

// exitOfCompared returns the error for the exit code of diff and report; nil when everything is as declared.
func exitOfCompared(a *app, all []located[gathered]) error {
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
