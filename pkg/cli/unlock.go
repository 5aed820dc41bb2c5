package cli

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v3"
)

func (a *app) unlockCommand() *cli.Command {
	return &cli.Command{
		Name: "unlock", Category: categoryChange, Usage: "have the operator let go of a release", ArgsUsage: "RELEASE",
		Description: "Deletes the HelmReleases that name the release. The release and its objects stay as they are.",
		Flags:       changeFlags(), Action: a.unlock,
	}
}

func (a *app) unlock(ctx context.Context, cmd *cli.Command) error {
	c, key, err := a.target(ctx, cmd)
	if err != nil {
		return err
	}
	store := c.helmReleases(cmd.String("helmrelease-namespace"), cmd.Bool("dry-run"))
	found, err := store.of(ctx, key, cmd.String("name"))
	if err != nil {
		return err
	}
	if len(found) == 0 {
		a.note("release %s is not locked: no HelmRelease in namespace %s names it", key, store.namespace)
		return nil
	}
	for _, hr := range found {
		if err := store.delete(ctx, hr); err != nil {
			return err
		}
		if err := a.printHelmRelease(cmd, hr, fmt.Sprintf("HelmRelease %s/%s deleted: release %s", hr.Namespace,
			hr.Name, key)); err != nil {
			return err
		}
	}
	return nil
}
