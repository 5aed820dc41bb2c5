package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/urfave/cli/v3"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
)

func enforceCommand(a *action) *cli.Command {
	return &cli.Command{
		Name: "enforce", Category: categoryChange, Usage: "have a rollout enforce releases that it holds because of drift",
		ArgsUsage: "RELEASE...",
		Description: "A HelmReleasePolicy with spec.rollout holds releases with drift in mode Detect (spec.rollout.drifted: Hold).\n" +
			"enforce prints the drift that is reverted then, and asks, as lock does. The rollout enforces the releases at once.\n" +
			"The consent is for the drift of this hold and for the revision that is deployed now.",
		Flags: changeFlags(a, askedFlags()...), Action: a.does(runEnforce),
	}
}

// enforce agrees to the revert of the drift of held releases.
func runEnforce(ctx context.Context, a *action) error {
	store, targets, err := choose(ctx, a)
	if err != nil {
		return err
	}
	if len(targets) == 0 {
		return nothingChosen(ctx, a, store)
	}
	held, failed := heldOf(ctx, a, store, targets)
	if len(held) == 0 {
		return cmp.Or(failed,
			nothingSelected(ctx, a, store, "no rollout holds a selected release because of drift"))
	}
	begun := make([]*v1alpha1.HelmRelease, len(held))
	for i, hr := range held {
		begun[i] = hr.DeepCopy()
		begun[i].Spec.Mode = v1alpha1.ModeEnforce
	}
	if _, err := confirmReverts(ctx, a, store.cluster, begun); err != nil {
		return err
	}
	var done []changed
	written := each(ctx, a, held, func(hr *v1alpha1.HelmRelease) error {
		hr, err := store.agree(ctx, hr)
		if err != nil {
			return err
		}
		text := fmt.Sprintf("HelmRelease %s/%s: the rollout of policy %s may enforce revision %d of release %s",
			hr.Namespace, hr.Name, hr.Labels[v1alpha1.PolicyLabel], hr.Status.Version, keyOf(hr))
		done = append(done, changed{hr: hr, text: text})
		return nil
	})
	if err := finish(ctx, a, store, done, isMoved); err != nil {
		return err
	}
	return cmp.Or(failed, written)
}

// held returns the held HelmReleases of targets. The error is about named releases that are not held; of selected ones
// the others are left out.
func heldOf(
	ctx context.Context, a *action, store *helmReleases, targets []target,
) (held []*v1alpha1.HelmRelease, failed error) {
	if !a.cmd.Args().Present() {
		targets = slices.DeleteFunc(targets, func(t target) bool { return len(t.locks) != 1 || !isHeld(t.locks[0]) })
	}
	failed = each(ctx, a, targets, func(t target) error {
		hr, err := lockOfTarget(ctx, a, store, t)
		switch {
		case err != nil:
			return err
		case isHeld(hr):
			held = append(held, hr)
			return nil
		case hr.Spec.Mode == v1alpha1.ModeDetect && v1alpha1.PolicyOf(hr) == nil:
			return command.Hinted(errNotHeld(hr), fmt.Sprintf("%s lock %s -n %s --mode Enforce enforces it", a.name,
				t.key.Name, t.key.Namespace))
		}
		return errNotHeld(hr)
	})
	return held, failed
}

func errNotHeld(hr *v1alpha1.HelmRelease) error {
	return fmt.Errorf("no rollout holds release %s: HelmRelease %s/%s has mode %s, and is not held because of drift",
		keyOf(hr), hr.Namespace, hr.Name, hr.Spec.Mode)
}

// agree writes a user's consent to the revert of the drift of a held release. A HelmRelease of another revision than
// the one that was read is an error: its drift was not shown.
func (h *helmReleases) agree(ctx context.Context, read *v1alpha1.HelmRelease) (*v1alpha1.HelmRelease, error) {
	revision := strconv.Itoa(read.Status.Version)
	return h.update(ctx, read, func(hr *v1alpha1.HelmRelease) (*v1alpha1.HelmRelease, error) {
		switch {
		case hr.Spec.Mode == v1alpha1.ModeEnforce, hr.Annotations[v1alpha1.EnforceRevisionAnnotation] == revision:
			return hr, nil
		case hr.Status.Version != read.Status.Version:
			return nil, command.Hinted(fmt.Errorf("the revision of release %s has changed: it is %d now", keyOf(hr),
				hr.Status.Version), "nothing is enforced: run the command again")
		}
		return h.patch(ctx, hr, map[string]any{"annotations": map[string]any{
			v1alpha1.EnforceRevisionAnnotation: revision}}, map[string]any{})
	})
}

// isMoved waits for the rollout, and then for the lock.
func isMoved(hr *v1alpha1.HelmRelease) (bool, string) {
	if hr.Spec.Mode == v1alpha1.ModeDetect {
		return false, "the rollout of policy " + hr.Labels[v1alpha1.PolicyLabel]
	}
	return isLocked(hr)
}
