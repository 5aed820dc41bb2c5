package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v3"
	"k8s.io/client-go/util/retry"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/report"
)

func (a *app) suspendCommand() *cli.Command {
	return &cli.Command{
		Name: "suspend", Category: categoryChange, Usage: "unlock a release for a while", ArgsUsage: "RELEASE",
		Description: "Suspends the lock, until a time or, without --for and --until, until it is resumed. Drift that is made meanwhile is\n" +
			"reverted when the release locks again.",
		Flags: changeFlags(append(waitFlags(),
			&cli.DurationFlag{Name: "for", Category: categoryWhat, HideDefault: true,
				Usage: "lock again after a `DURATION`, for example 30m"},
			&cli.StringFlag{Name: "until", Category: categoryWhat,
				Usage: "lock again at a `TIME`, for example 2026-01-31T18:00:00Z"},
			&cli.StringFlag{Name: "reason", Category: categoryWhat,
				Usage: "`TEXT` for others to know why; status shows it"})...),
		Action: a.suspend,
	}
}

func (a *app) resumeCommand() *cli.Command {
	return &cli.Command{
		Name: "resume", Category: categoryChange, Usage: "end a suspension at once", ArgsUsage: "RELEASE",
		Flags: changeFlags(waitFlags()...), Action: a.resume,
	}
}

// suspensionEnd returns until when to suspend, by the flags; nil for until it is resumed.
func (a *app) suspensionEnd(ctx context.Context, cmd *cli.Command) (*time.Time, error) {
	span, given := cmd.Duration("for"), cmd.String("until")
	if cmd.IsSet("for") && given != "" {
		return nil, usageError(ctx, cmd, errors.New("--for and --until exclude each other"), true)
	}
	var until time.Time
	switch {
	case given != "":
		var err error
		if until, err = time.Parse(time.RFC3339, given); err != nil {
			return nil, hinted(fmt.Errorf("--until %q is not a time", given),
				"write it like 2026-01-31T18:00:00Z or 2026-01-31T18:00:00+01:00")
		}
		if !until.After(a.now()) {
			return nil, fmt.Errorf("--until %s is in the past", given)
		}
	case cmd.IsSet("for"):
		if span < time.Second {
			return nil, fmt.Errorf("--for %s is no time to come", span)
		}
		until = a.now().Add(span)
	default:
		return nil, nil
	}
	until = until.UTC().Truncate(time.Second) // what the API keeps
	return &until, nil
}

func (a *app) suspend(ctx context.Context, cmd *cli.Command) error {
	until, err := a.suspensionEnd(ctx, cmd)
	if err != nil {
		return err
	}
	spec := map[string]any{"suspend": true, "suspendUntil": nil}
	if until != nil {
		spec = map[string]any{"suspend": nil, "suspendUntil": until.Format(time.RFC3339)}
	}
	annotations := map[string]any{v1alpha1.SuspendReasonAnnotation: nil}
	if reason := cmd.String("reason"); reason != "" {
		annotations[v1alpha1.SuspendReasonAnnotation] = reason
	}
	same := func(hr *v1alpha1.HelmRelease) bool {
		stays := until == nil && hr.Spec.Suspend && hr.Spec.SuspendUntil == nil ||
			until != nil && !hr.Spec.Suspend && hr.Spec.SuspendUntil != nil && hr.Spec.SuspendUntil.Time.Equal(*until)
		return stays && hr.Annotations[v1alpha1.SuspendReasonAnnotation] == cmd.String("reason")
	}
	return a.change(ctx, cmd, change{
		same: same, annotations: annotations, spec: spec, done: isSuspended,
		text: func(hr *v1alpha1.HelmRelease) string { return "suspended" + report.SuspendedFor(hr) },
	})
}

func (a *app) resume(ctx context.Context, cmd *cli.Command) error {
	same := func(hr *v1alpha1.HelmRelease) bool {
		_, reason := hr.Annotations[v1alpha1.SuspendReasonAnnotation]
		return !hr.Spec.Suspend && hr.Spec.SuspendUntil == nil && !reason
	}
	return a.change(ctx, cmd, change{
		same: same, annotations: map[string]any{v1alpha1.SuspendReasonAnnotation: nil},
		spec: map[string]any{"suspend": nil, "suspendUntil": nil}, done: isLocked,
		text: func(*v1alpha1.HelmRelease) string { return "resumed" },
	})
}

// change is a change of a HelmRelease.
type change struct {
	same              func(*v1alpha1.HelmRelease) bool   // reports whether there is nothing to change
	annotations, spec map[string]any                     // the patch
	text              func(*v1alpha1.HelmRelease) string // what the release is afterwards
	done              waitFor                            // what --wait waits for
}

// change patches the HelmRelease of the release that the argument names, unless it is the same already.
func (a *app) change(ctx context.Context, cmd *cli.Command, ch change) error {
	c, key, err := a.target(ctx, cmd)
	if err != nil {
		return err
	}
	store := c.helmReleases(cmd.String("helmrelease-namespace"), cmd.Bool("dry-run"))
	var hr *v1alpha1.HelmRelease
	action := ""
	err = retry.OnError(retry.DefaultRetry, outdated, func() error {
		found, err := store.of(ctx, key, cmd.String("name"))
		if err != nil {
			return err
		}
		switch {
		case len(found) == 0:
			return hinted(fmt.Errorf("release %s is not locked: no HelmRelease in namespace %s names it", key,
				store.namespace),
				fmt.Sprintf("%s lock %s -n %s locks it; --helmrelease-namespace looks elsewhere", a.name, key.Name,
					key.Namespace))
		case len(found) > 1:
			return hinted(fmt.Errorf("%s name release %s", report.Count(len(found), "HelmRelease"), key),
				"choose one with --name")
		}
		if hr = found[0]; ch.same(hr) {
			action = " already"
			return nil
		}
		hr, err = store.patch(ctx, hr, map[string]any{"annotations": ch.annotations}, ch.spec)
		return err
	})
	if err != nil {
		return err
	}
	line := fmt.Sprintf("HelmRelease %s/%s%s %s: release %s", hr.Namespace, hr.Name, action, ch.text(hr), key)
	if err := a.printHelmRelease(cmd, hr, line); err != nil {
		return err
	}
	return a.waitIfAsked(ctx, cmd, store, hr, ch.done)
}
