package cli

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
)

func (a *app) unlockCommand() *cli.Command {
	return &cli.Command{
		Name: "unlock", Category: categoryChange, Usage: "have the operator let go of releases", ArgsUsage: "RELEASE...",
		Description: "Deletes the HelmReleases that name the releases. The releases and their objects stay as they are.",
		Flags:       changeFlags(lockSelectFlags()...), Action: a.unlock,
	}
}

func (a *app) unlock(ctx context.Context, cmd *cli.Command) error {
	store, targets, err := a.choose(ctx, cmd)
	if err != nil {
		return err
	}
	var done []changed
	failed := each(ctx, a, targets, func(t target) error {
		if len(t.locks) == 0 {
			return a.notUnlocked(ctx, cmd, store, t)
		}
		for _, hr := range t.locks {
			if err := store.delete(ctx, hr); err != nil {
				return err
			}
			if owner := v1alpha1.PolicyOf(hr); owner != nil {
				a.note("note: HelmReleasePolicy %s locks release %s again; exclude it there, or suspend it", owner.Name, t.key)
			}
			done = append(done, changed{hr, fmt.Sprintf("HelmRelease %s/%s deleted: release %s", hr.Namespace, hr.Name,
				t.key)})
		}
		return nil
	})
	if err := a.finish(ctx, cmd, store, done, nil); err != nil {
		return err
	}
	return failed
}

// notUnlocked returns the error for a release without a HelmRelease, and prints a note if the release exists: it is
// unlocked already. Users without the right to read records cannot know that.
func (a *app) notUnlocked(ctx context.Context, cmd *cli.Command, store *helmReleases, t target) error {
	reason := a.notLocked(t, store.namespace)
	if len(t.others) == 0 {
		_, err := store.cluster.Find(ctx, t.key, 0)
		if err == nil || apierrors.IsForbidden(err) && len(t.similar) == 0 {
			a.note("%v", reason)
			return nil
		}
		if len(t.similar) == 0 {
			reason = err
		}
	}
	return a.empty(ctx, cmd, store.cluster, reason, store.namespace, t.key.Namespace)
}
