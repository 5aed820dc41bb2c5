package cli

import (
	"context"
	"errors"
	"io"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/release"
)

// confirmReverts prints the drift that an operator reverts by HelmReleases that are not stored yet, and asks once for
// all. It returns the drift with the answer yes; the error is about another answer. A release that cannot be compared
// is only noted: a user with the right to change locks needs none to read objects.
func confirmReverts(
	ctx context.Context, a *action, c *connection, begun []*v1alpha1.HelmRelease,
) (found []drifted, err error) {
	masker, err := newMasker(false)
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
			noteUncompared(a, key, d.Comparison)
			if hasDrifted(d.Comparison) {
				found = append(found, *d)
			}
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	if asks, err := a.explainReverts(revertsText(a, found)); err != nil || !asks {
		return found, err
	}
	return found, a.agreed("Revert these?")
}

// agreed asks a question about printed drift. The error is about another answer than yes.
func (a *action) agreed(question string) error {
	agreed, err := a.confirm(question)
	if err == nil && !agreed {
		err = errors.New("nothing was changed")
	}
	if err != nil {
		return &command.ExitError{Code: command.ExitFound, Err: err}
	}
	return nil
}

// noteUncompared names the reasons for which the drift of a release is not, or not fully, known.
func noteUncompared(a *action, key release.Key, c *inspect.Comparison) {
	if n := len(c.Failures); n > 0 {
		a.note("note: drift that is reverted in %s of release %s is not known: %s: %v", plain.Count(n, "object"),
			key, c.Failures[0].ID, c.Failures[0].Err)
	}
	if c.Local != "" && hasDrifted(c) {
		a.note("note: release %s is compared locally: %s; what the API server or a webhook makes of a value may look like drift",
			key, c.Local)
	}
}

// explainReverts prints what a command is about to do with objects. It is left out with --quiet where no question
// follows.
func (a *action) explainReverts(text string) (asks bool, err error) {
	asks = !a.cmd.Bool("dry-run") && !a.cmd.Bool("yes")
	if asks || !a.quiet {
		_, err = io.WriteString(a.errOut, text)
	}
	return asks, err
}
