package cli

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v3"

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
			a.note("release %s is not locked: no HelmRelease in namespace %s names it", t.key, store.namespace)
			if len(t.similar) > 0 {
				a.note("  %s", didYouMean(t.key, t.similar))
			}
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
