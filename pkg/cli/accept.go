package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"
	"k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/report"
)

func acceptCommand(a *action) *cli.Command {
	return &cli.Command{
		Name: "accept", Category: categoryChange, Usage: "have the operator enforce records that it does not trust",
		ArgsUsage: "RELEASE...",
		Description: "An operator with --trust-records=Witnessed enforces a release record as far as the writer of the record has the rights\n" +
			"for it. accept sets spec.acceptedRecord, so that the operator enforces the newest record as it is now, whoever wrote it,\n" +
			"and expects its writer (spec.expectedWriters).\n" +
			"A record that changes before the operator reads it is not accepted.\n" +
			"Of selected releases, accept takes those whose records are not trusted, or of an unexpected writer.\n\n" +
			"accept prints the writer, and the objects that the operator writes and deletes then, and asks. Without a terminal it\n" +
			"needs --yes: else it changes nothing, and exits with 2.",
		Flags: changeFlags(a, askedFlags()...), Action: a.does(runAccept),
	}
}

// doubted is a release with a record to accept.
type doubted struct {
	*drifted
	left []manifest.ID
}

func runAccept(ctx context.Context, a *action) error {
	store, targets, err := choose(ctx, a)
	if err != nil {
		return err
	}
	if !a.cmd.Args().Present() {
		if len(targets) == 0 {
			return nothingChosen(ctx, a, store)
		}
		if targets = slices.DeleteFunc(targets, hasNoDoubt); len(targets) == 0 {
			return nothingSelected(ctx, a, store, "every selected release has a trusted record, or is not compared now")
		}
	}
	var found []*doubted
	failed := each(ctx, a, targets, func(t target) error {
		hr, err := lockOfTarget(ctx, a, store, t)
		if err != nil {
			return err
		}
		d, err := compareDoubted(ctx, a, store.cluster, hr)
		if err == nil {
			found = append(found, d)
		}
		return err
	})
	if len(found) == 0 {
		return failed
	}
	if err := confirmAccepted(a, found); err != nil {
		return err
	}
	var done []changed
	written := each(ctx, a, found, func(d *doubted) error {
		hr, err := d.acceptRecord(ctx, store)
		if err != nil {
			return err
		}
		done = append(done, changed{hr: hr, text: fmt.Sprintf("HelmRelease %s/%s accepts revision %d of release %s",
			hr.Namespace, hr.Name, d.record.Revision, d.record.Key)})
		return nil
	})
	if err := finish(ctx, a, store, done, isEnforced); err != nil {
		return err
	}
	return cmp.Or(failed, written)
}

// hasNoDoubt reports whether a target has no record to accept.
func hasNoDoubt(t target) bool {
	if len(t.locks) != 1 {
		return true
	}
	trust := t.locks[0].Status.Trust
	return (trust == nil || trust.State != v1alpha1.TrustStateNotTrusted) && !isFlagged(t.locks[0])
}

// isEnforced waits for a lock at a trusted record.
func isEnforced(hr *v1alpha1.HelmRelease) (bool, string) {
	if hr.Status.ObservedGeneration < hr.Generation {
		return false, "an operator"
	}
	if isFlagged(hr) {
		return false, meta.FindStatusCondition(hr.Status.Conditions, v1alpha1.ConditionExpectedWriter).Message
	}
	locked := meta.FindStatusCondition(hr.Status.Conditions, v1alpha1.ConditionLocked)
	if locked == nil {
		return false, "an operator"
	}
	return locked.Status == "True", locked.Reason + ": " + locked.Message
}

// doubted compares a release whose record is not trusted. The error is the reason why there is nothing to accept.
func compareDoubted(ctx context.Context, a *action, c *connection, hr *v1alpha1.HelmRelease) (*doubted, error) {
	key, status := keyOf(hr), hr.Status.Trust
	switch {
	case status == nil:
		_, message, _ := report.Ready(hr)
		return nil, fmt.Errorf("there is nothing to accept: release %s is not compared now: %s", key,
			cmp.Or(message, "no operator has taken up its HelmRelease"))
	case status.State == v1alpha1.TrustStateAny:
		return nil, command.Hinted(errors.New("there is nothing to accept: the operator enforces the records of any writer"),
			"trust.records=Witnessed in the values of its chart has it ask for the rights of writers")
	case status.State == v1alpha1.TrustStateAccount && !isFlagged(hr):
		return nil, fmt.Errorf("there is nothing to accept: the account of release %s limits what is enforced", key)
	}
	masker, err := newMasker(false)
	if err != nil {
		return nil, err
	}
	compared, err := c.drifted(ctx, hr, inspect.CompareOptions{Masker: masker, Progress: a.progress(key, 1, 1)})
	switch {
	case err != nil:
		return nil, fmt.Errorf("release %s: %w", key, err)
	case compared == nil:
		return nil, fmt.Errorf("there is nothing to accept: release %s does not exist", key)
	case status.State == v1alpha1.TrustStateTrusted && status.Revision == compared.record.Revision && !isFlagged(hr):
		return nil, fmt.Errorf("revision %d of release %s is trusted already (%s)", status.Revision, key, status.Reason)
	}
	noteUncompared(a, key, compared.Comparison)
	d := &doubted{drifted: compared}
	if d.left, err = c.Leftovers(ctx, key); err != nil {
		a.note("note: objects of earlier revisions that are deleted in release %s are not known: %v", key, err)
	}
	return d, ctx.Err()
}

// confirmAccepted prints what the operator does once the records are accepted, and asks.
func confirmAccepted(a *action, found []*doubted) error {
	var b strings.Builder
	for _, d := range found {
		d.text(&b, a.name)
	}
	if asks, err := a.explainReverts(b.String()); err != nil || !asks {
		return err
	}
	return a.agreed("Accept, and enforce this?")
}

// text writes what the operator does with a record once it is accepted.
func (d *doubted) text(b *strings.Builder, program string) {
	line := func(text string) { fmt.Fprintln(b, plain.Line(text)) }
	writer := "a user whom the operator did not see"
	if status := d.hr.Status.Trust; status.Writer != "" && status.Revision == d.record.Revision {
		writer = "user " + status.Writer
	}
	key := d.record.Key
	line(fmt.Sprintf("release %s: revision %d was stored by %s; enforcing it writes %s and deletes %s", key,
		d.record.Revision, writer, plain.Count(len(d.Differences), "object"), plain.Count(len(d.left), "object")))
	for i := range d.Differences[:min(len(d.Differences), revertedObjects)] {
		o := &d.Differences[i]
		if o.State == inspect.StateMissing {
			line("  " + o.ID.String() + ": create it")
			continue
		}
		line("  " + d.revertText(o))
	}
	if more := len(d.Differences) - revertedObjects; more > 0 {
		line(fmt.Sprintf("  and %d more: %s diff %s -n %s", more, program, key.Name, key.Namespace))
	}
	for _, id := range d.left[:min(len(d.left), revertedObjects)] {
		line("  " + id.String() + ": delete it, as no revision declares it now")
	}
	if more := len(d.left) - revertedObjects; more > 0 {
		line(fmt.Sprintf("  and %d more to delete", more))
	}
}

// acceptRecord accepts the record of a comparison, if it is still the newest one and as it was compared.
func (d *drifted) acceptRecord(ctx context.Context, store *helmReleases) (*v1alpha1.HelmRelease, error) {
	now, err := store.cluster.Find(ctx, d.record.Key, 0)
	if err != nil {
		return nil, err
	}
	if !now.Same(d.record) {
		return nil, command.Hinted(fmt.Errorf("the newest record of release %s has changed since it was compared: it is "+
			"revision %d, %s, now", now.Key, now.Revision, now.Status), "nothing is accepted: run the command again")
	}
	return store.update(ctx, d.hr, func(hr *v1alpha1.HelmRelease) (*v1alpha1.HelmRelease, error) {
		if hr.Spec.AcceptedRecord == d.record.Version() {
			return hr, nil
		}
		return store.patch(ctx, hr, nil, map[string]any{"acceptedRecord": d.record.Version()})
	})
}
