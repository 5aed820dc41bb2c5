package cli

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/urfave/cli/v3"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/rules"
)

// beginsToRevert reports whether a change of a HelmRelease makes an operator revert drift that it left alone before.
// before is nil for a new one.
func beginsToRevert(before, after *v1alpha1.HelmRelease, now time.Time) bool {
	reverts := func(hr *v1alpha1.HelmRelease) bool {
		return hr != nil && hr.Spec.Mode != v1alpha1.ModeDetect && !hr.Spec.SuspendedAt(now)
	}
	switch {
	case !reverts(after):
		return false
	case !reverts(before):
		return true
	case after.Spec.Scope == v1alpha1.ScopeStrict && before.Spec.Scope != v1alpha1.ScopeStrict:
		return true
	}
	return slices.ContainsFunc(before.Spec.Ignore, func(rule v1alpha1.IgnoreRule) bool {
		return !slices.ContainsFunc(after.Spec.Ignore,
			func(kept v1alpha1.IgnoreRule) bool { return reflect.DeepEqual(rule, kept) })
	})
}

// drifted is a release whose drift an operator reverts by a HelmRelease that is not stored yet.
type drifted struct {
	hr *v1alpha1.HelmRelease
	// record was compared.
	record release.Record
	*inspect.Comparison
	// declared are the objects of the manifest. They are not masked.
	declared []manifest.Object
}

// confirmReverts prints the drift that an operator reverts by HelmReleases that are not stored yet, and asks once for
// all. It returns the drift with the answer yes; the error is about another answer. A release that cannot be compared
// is only noted: a user with the right to change locks needs none to read objects.
func (a *app) confirmReverts(
	ctx context.Context, cmd *cli.Command, c *connection, begun []*v1alpha1.HelmRelease,
) (found []drifted, err error) {
	masker, err := a.masker(false)
	if err != nil {
		return nil, err
	}
	for i, hr := range begun {
		key := keyOf(hr)
		d, err := c.drifted(ctx, hr, inspect.CompareOptions{Masker: masker, Progress: a.progress(key, i+1, len(begun))})
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			a.note("note: drift that is reverted in release %s is not known: %v", key, err)
		case d != nil:
			a.noteUncompared(key, d.Comparison)
			if hasDrifted(d.Comparison) {
				found = append(found, *d)
			}
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	if asks, err := a.explainReverts(cmd, a.revertsText(found)); err != nil || !asks {
		return found, err
	}
	return found, a.agreed("Revert these?")
}

// agreed asks a question about printed drift. The error is about another answer than yes.
func (a *app) agreed(question string) error {
	agreed, err := a.confirm(question)
	if err == nil && !agreed {
		err = errors.New("nothing was changed")
	}
	if err != nil {
		return &command.ExitError{Code: command.ExitFound, Err: err}
	}
	return nil
}

// drifted compares a release as diff does, with the spec of a HelmRelease. It returns nil for a release that does not
// exist: its lock begins without drift. The error is the reason why it cannot be compared.
func (c *connection) drifted(
	ctx context.Context, hr *v1alpha1.HelmRelease, options inspect.CompareOptions,
) (*drifted, error) {
	key := keyOf(hr)
	records, err := c.Records(ctx, key.Namespace, key.Name)
	if err != nil {
		return nil, err
	}
	newest, found := release.Newest(records)
	switch {
	case !found || newest.Status == release.StatusUninstalled:
		return nil, nil
	case newest.Contested:
		return nil, &inspect.ContestedError{Key: key}
	case newest.Status != release.StatusDeployed:
		return nil, fmt.Errorf("its newest revision, %d, is %s", newest.Revision, newest.Status)
	}
	options.Strict = hr.Spec.Scope == v1alpha1.ScopeStrict
	if options.Rules, err = rules.Compile(hr.Spec.Ignore); err != nil {
		return nil, err
	}
	details, err := c.Read(ctx, newest)
	if err != nil {
		return nil, err
	}
	d := &drifted{hr: hr, record: newest}
	if d.Comparison, err = inspect.Compare(ctx, c, details, options); err != nil {
		return nil, err
	}
	d.declared, err = inspect.Objects(details, c.Scope())
	return d, err
}

// noteUncompared names the reasons for which the drift of a release is not, or not fully, known.
func (a *app) noteUncompared(key release.Key, c *inspect.Comparison) {
	if n := len(c.Failures); n > 0 {
		a.note("note: drift that is reverted in %s of release %s is not known: %s: %v", plain.Count(n, "object"),
			key, c.Failures[0].ID, c.Failures[0].Err)
	}
	if c.Local != "" && hasDrifted(c) {
		a.note("note: release %s is compared locally: %s; what the API server or a webhook makes of a value may look like drift",
			key, c.Local)
	}
}
