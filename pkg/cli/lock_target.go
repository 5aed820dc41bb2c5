package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/release"
)

// pointer matches a path of an ignore rule.
var pointer = regexp.MustCompile(`^(/([^~/]|~[01])*)*$`)

func checkPaths(a *action) error {
	for _, flag := range []string{"ignore", "unignore"} {
		for _, path := range a.cmd.StringSlice(flag) {
			if !pointer.MatchString(path) {
				return command.Hinted(fmt.Errorf("--%s %q is no JSON pointer", flag, path),
					"begin each segment with a slash, and write ~1 for a slash and ~0 for a tilde in a key: /metadata/annotations/example.com~1hash")
			}
		}
	}
	for _, path := range a.cmd.StringSlice("unignore") {
		if slices.Contains(a.cmd.StringSlice("ignore"), path) {
			return a.misused(fmt.Errorf("--ignore and --unignore of %q exclude each other", path))
		}
	}
	return nil
}

// ignoreRules returns ignore rules with the paths of --ignore and without those of --unignore.
func ignoreRules(rules []v1alpha1.IgnoreRule, a *action) []v1alpha1.IgnoreRule {
	var ignore []v1alpha1.IgnoreRule
	back := a.cmd.StringSlice("unignore")
	for _, rule := range rules {
		if !isPlain(rule) {
			ignore = append(ignore, rule)
			continue
		}
		rule.Paths = slices.DeleteFunc(slices.Clone(rule.Paths),
			func(path string) bool { return slices.Contains(back, path) })
		if len(rule.Paths) > 0 {
			ignore = append(ignore, rule)
		}
	}
	var missing []string
	for _, path := range a.cmd.StringSlice("ignore") {
		if !ignores(ignore, path) {
			missing = append(missing, path)
		}
	}
	if len(missing) > 0 {
		ignore = append(ignore, v1alpha1.IgnoreRule{Paths: missing})
	}
	return ignore
}

// noteUnignored names the paths of --unignore that the rules of an object do not ignore.
func noteUnignored(a *action, rules []v1alpha1.IgnoreRule, of string) {
	for _, path := range a.cmd.StringSlice("unignore") {
		if !ignores(rules, path) {
			a.note("note: %s does not ignore %s", of, path)
		}
	}
}

// isPlain reports whether a rule covers paths of all objects, for every writer, like the rules of --ignore.
func isPlain(rule v1alpha1.IgnoreRule) bool {
	return len(rule.Managers) == 0 && rule.Target == nil && !rule.Deletion
}

// ignores reports whether rules leave a path alone in all objects, for every writer.
func ignores(rules []v1alpha1.IgnoreRule, path string) bool {
	return slices.ContainsFunc(rules, func(rule v1alpha1.IgnoreRule) bool {
		return isPlain(rule) && slices.Contains(rule.Paths, path)
	})
}

// releaseState describes the release to be locked. A missing release is an error if it must exist, if its namespace is
// missing too, and if it resembles a release: it may be misspelt.
func releaseState(ctx context.Context, a *action, c *connection, key release.Key) (string, error) {
	record, err := c.Find(ctx, key, 0)
	var missing *inspect.NotFoundError
	switch {
	case err == nil:
		return fmt.Sprintf("revision %d, %s", record.Revision, record.Status), checkIgnored(ctx, a, c, record)
	case a.cmd.Bool("must-exist"):
		return "", err
	case errors.As(err, &missing) && missing.Elsewhere != "":
		return "whose record is in " + missing.Elsewhere + "; only an operator with --release-storage=secret,configmap reads it", nil
	case errors.As(err, &missing):
		if err := c.misspelt(ctx, missing); err != nil && !a.cmd.Bool(mayNotExistName) && !c.isLocked(ctx, key) {
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
func (c *connection) isLocked(ctx context.Context, key release.Key) bool {
	locks, err := c.helmReleases(c.cmd.String("helmrelease-namespace"), false).list(ctx, nil)
	return err == nil && slices.ContainsFunc(locks, func(hr *v1alpha1.HelmRelease) bool { return keyOf(hr) == key })
}

// checkIgnored checks the paths of --ignore against the objects of a revision. A misspelt one is an error: the lock
// would revert the field that was meant.
func checkIgnored(ctx context.Context, a *action, c *connection, record release.Record) error {
	paths := a.cmd.StringSlice("ignore")
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
		case !use.possible && use.near != "" && !a.cmd.Bool(mayNotExistName):
			return command.Hinted(fmt.Errorf("--ignore %s: no object of release %s has such a field", path, key),
				fmt.Sprintf("did you mean %s? --may-not-exist adds the rule as it is", use.near))
		default:
			a.note("note: --ignore %s: no object of release %s declares such a field now", path, key)
		}
	}
	return nil
}
