package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
)

// mayNotExistName is the flag that accepts names of releases and fields that do not exist and resemble others.
const mayNotExistName = "may-not-exist"

// releaseState describes the release to be locked. A missing release is an error if it must exist, if its namespace is
// missing too, and if it resembles a release: it may be misspelt.
func (a *app) releaseState(ctx context.Context, cmd *cli.Command, c *connection, key release.Key) (string, error) {
	record, err := c.Find(ctx, key, 0)
	var missing *inspect.NotFoundError
	switch {
	case err == nil:
		return fmt.Sprintf("revision %d, %s", record.Revision, record.Status), a.checkIgnored(ctx, cmd, c, record)
	case cmd.Bool("must-exist"):
		return "", err
	case errors.As(err, &missing) && missing.Elsewhere != "":
		return "whose record is in " + missing.Elsewhere + "; only an operator with --release-storage=secret,configmap reads it", nil
	case errors.As(err, &missing):
		if err := c.misspelt(ctx, missing); err != nil && !cmd.Bool(mayNotExistName) && !c.isLocked(ctx, cmd, key) {
			return "", err
		}
		return "which does not exist yet and is locked when it appears", nil
	case apierrors.IsForbidden(err):
		return "of which you may not see whether it exists", nil
	}
	return "", err
}

// misspelt returns the error for a missing release whose namespace is missing, or that resembles another release.
func (c *connection) misspelt(ctx context.Context, missing *inspect.NotFoundError) error {
	const hint = "--may-not-exist locks it when it appears"
	if err := c.missing(ctx, missing.Key.Namespace); err != nil {
		return command.Hinted(err, hint)
	}
	if len(missing.Similar) == 0 {
		return nil
	}
	err := command.Hinted(fmt.Errorf("release %s does not exist", missing.Key), didYouMean(missing.Key, missing.Similar),
		hint)
	return &command.ExitError{Code: command.ExitEmpty, Err: err}
}

// isLocked reports whether a HelmRelease for a release is known to exist: its name was accepted before.
func (c *connection) isLocked(ctx context.Context, cmd *cli.Command, key release.Key) bool {
	locks, err := c.helmReleases(cmd.String("helmrelease-namespace"), false).list(ctx, nil)
	return err == nil && slices.ContainsFunc(locks, func(hr *v1alpha1.HelmRelease) bool { return keyOf(hr) == key })
}

// checkIgnored checks the paths of --ignore against the objects of a revision. A misspelt one is an error: the lock
// would revert the field that was meant.
func (a *app) checkIgnored(ctx context.Context, cmd *cli.Command, c *connection, record release.Record) error {
	paths := cmd.StringSlice("ignore")
	if len(paths) == 0 {
		return nil
	}
	objects, err := c.objectsOf(ctx, record)
	if ctx.Err() != nil {
		return err
	}
	if err != nil {
		a.note("note: the paths of --ignore were not checked: %v", err)
		return nil
	}
	key := record.Key
	for _, path := range paths {
		switch use, err := useOf(path, nil, objects); {
		case err != nil:
			return fmt.Errorf("--ignore: %w", err)
		case use.declared:
		case !use.possible && use.near != "" && !cmd.Bool(mayNotExistName):
			return command.Hinted(fmt.Errorf("--ignore %s: no object of release %s has such a field", path, key),
				fmt.Sprintf("did you mean %s? --may-not-exist adds the rule as it is", use.near))
		default:
			a.note("note: --ignore %s: no object of release %s declares such a field now", path, key)
		}
	}
	return nil
}

// objectsOf returns the objects that a revision declares.
func (c *connection) objectsOf(ctx context.Context, record release.Record) ([]manifest.Object, error) {
	details, err := c.Read(ctx, record)
	if err != nil {
		return nil, err
	}
	return inspect.Objects(details, c.Scope())
}
