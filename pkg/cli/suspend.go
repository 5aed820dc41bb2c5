package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/urfave/cli/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/report"
)

func suspendCommand(a *action) *cli.Command {
	return &cli.Command{
		Name: "suspend", Category: categoryChange, Usage: "unlock releases for a while", ArgsUsage: "RELEASE... [KIND/NAME:FIELD...]",
		Description: "Suspends the lock, until a time or, without --for and --until, until it is resumed. Drift that is made meanwhile is\n" +
			"reverted when the release locks again. With fields, such as deployment/web:spec.replicas, only these are left alone: an\n" +
			"ignore rule that ends by itself is added, and the release stays locked.",
		Flags: changeFlags(a, slices.Concat(lockSelectFlags(), waitFlags(), []cli.Flag{
			&cli.StringFlag{Name: "for", Category: categoryWhat,
				Usage: "lock again after a `DURATION`, for example 30m, 1d or 1w"},
			&cli.StringFlag{Name: "until", Category: categoryWhat,
				Usage: "lock again at a `TIME`, for example 2026-01-31T18:00:00Z"},
			&cli.StringFlag{Name: "reason", Category: categoryWhat,
				Usage: "`TEXT` for others to know why; status shows it"}})...),
		Action: a.does(runSuspend),
	}
}

func resumeCommand(a *action) *cli.Command {
	return &cli.Command{
		Name: "resume", Category: categoryChange, Usage: "end suspensions at once", ArgsUsage: "RELEASE... [KIND/NAME:FIELD...]",
		Description: "Prints the drift that the lock reverts then, and asks, as lock does.",
		Flags:       changeFlags(a, askedFlags()...), Action: a.does(runResume),
	}
}

// suspensionEnd returns until when to suspend, by the flags; nil for until it is resumed.
func suspensionEnd(a *action) (*time.Time, error) {
	given := a.cmd.String("until")
	if a.cmd.IsSet("for") && given != "" {
		return nil, a.misused(errors.New("--for and --until exclude each other"))
	}
	var until time.Time
	switch {
	case given != "":
		var err error
		if until, err = time.Parse(time.RFC3339, given); err != nil {
			return nil, command.Hinted(fmt.Errorf("--until %q is not a time", given),
				"write it like 2026-01-31T18:00:00Z or 2026-01-31T18:00:00+01:00")
		}
		if !until.After(a.now()) {
			return nil, fmt.Errorf("--until %s is in the past", given)
		}
	case a.cmd.IsSet("for"):
		span, err := duration(a.cmd.String("for"))
		if err != nil {
			return nil, a.misused(err)
		}
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

// duration parses the value of --for. Days, weeks and years have a fixed length, as in Prometheus.
func duration(text string) (time.Duration, error) {
	if span, err := time.ParseDuration(text); err == nil {
		return span, nil
	}
	span, err := model.ParseDuration(text)
	if err != nil {
		return 0, command.Hinted(fmt.Errorf("--for %q is no duration", text), "write it like 30m, 1h30m, 1d or 1w")
	}
	return time.Duration(span), nil
}

func runSuspend(ctx context.Context, a *action) error {
	until, err := suspensionEnd(a)
	if err != nil {
		return err
	}
	if fields := fieldArguments(a); len(fields) > 0 {
		return suspendFields(ctx, a, fields, until)
	}
	spec := map[string]any{"suspend": true, "suspendUntil": nil}
	if until != nil {
		spec = map[string]any{"suspend": nil, "suspendUntil": until.Format(time.RFC3339)}
	}
	annotations := map[string]any{v1alpha1.SuspendReasonAnnotation: nil}
	if reason := a.cmd.String("reason"); reason != "" {
		annotations[v1alpha1.SuspendReasonAnnotation] = reason
	}
	same := func(hr *v1alpha1.HelmRelease) bool {
		stays := until == nil && hr.Spec.Suspend && hr.Spec.SuspendUntil == nil ||
			until != nil && !hr.Spec.Suspend && hr.Spec.SuspendUntil != nil && hr.Spec.SuspendUntil.Time.Equal(*until)
		return stays && hr.Annotations[v1alpha1.SuspendReasonAnnotation] == a.cmd.String("reason")
	}
	return changeLocks(ctx, a, change{
		same: same, annotations: annotations, spec: spec, done: isSuspended, pauses: true, until: until,
		text: func(hr *v1alpha1.HelmRelease) string { return "suspended" + report.SuspendedFor(hr) },
	})
}

func runResume(ctx context.Context, a *action) error {
	if fields := fieldArguments(a); len(fields) > 0 {
		return resumeFields(ctx, a, fields)
	}
	same := func(hr *v1alpha1.HelmRelease) bool {
		_, reason := hr.Annotations[v1alpha1.SuspendReasonAnnotation]
		_, author := hr.Annotations[v1alpha1.SuspendedByAnnotation]
		return !hr.Spec.Suspend && hr.Spec.SuspendUntil == nil && !reason && !author
	}
	return changeLocks(ctx, a, change{
		same:        same,
		annotations: map[string]any{v1alpha1.SuspendReasonAnnotation: nil, v1alpha1.SuspendedByAnnotation: nil},
		spec:        map[string]any{"suspend": nil, "suspendUntil": nil}, done: isLocked, resumes: true,
		text: func(*v1alpha1.HelmRelease) string { return "resumed" },
	})
}

// change patches the HelmReleases selected by arguments and flags, unless they have the values already.
func changeLocks(ctx context.Context, a *action, ch change) error {
	store, targets, err := choose(ctx, a)
	if apierrors.IsForbidden(err) {
		return changeReleaseLocks(ctx, a, ch, err)
	}
	if err != nil {
		return err
	}
	if len(targets) == 0 {
		return nothingChosen(ctx, a, store)
	}
	if ch.resumes {
		if _, err := confirmReverts(ctx, a, store.cluster, resumed(a, targets)); err != nil {
			return err
		}
	}
	if ch.pauses {
		ch.annotations[v1alpha1.SuspendedByAnnotation] = nil
		if user := store.user(ctx); user != "" {
			ch.annotations[v1alpha1.SuspendedByAnnotation] = user
		}
	}
	var done []changed
	failed := each(ctx, a, targets, func(t target) error {
		before, err := lockOfTarget(ctx, a, store, t)
		if err != nil {
			return err
		}
		action := ""
		hr, err := store.update(ctx, before, func(hr *v1alpha1.HelmRelease) (*v1alpha1.HelmRelease, error) {
			if ch.same(hr) {
				action = " already"
				return hr, nil
			}
			if ch.pauses {
				if err := store.mayPause(ctx, hr, ch.until, a.now()); err != nil {
					return nil, err
				}
			}
			return store.patch(ctx, hr, map[string]any{"annotations": ch.annotations}, ch.spec)
		})
		if err != nil {
			return err
		}
		done = append(done, changed{hr: hr, text: fmt.Sprintf("HelmRelease %s/%s%s %s: release %s", hr.Namespace,
			hr.Name, action, ch.text(hr), t.key)})
		return nil
	})
	if err := finish(ctx, a, store, done, ch.done); err != nil {
		return err
	}
	return failed
}

// resumed returns the HelmReleases of targets whose suspension ends, without it.
func resumed(a *action, targets []target) []*v1alpha1.HelmRelease {
	var begun []*v1alpha1.HelmRelease
	for _, t := range targets {
		if len(t.locks) != 1 {
			continue // an error follows
		}
		after := t.locks[0].DeepCopy()
		after.Spec.Suspend, after.Spec.SuspendUntil = false, nil
		if beginsToRevert(t.locks[0], after, a.now()) {
			begun = append(begun, after)
		}
	}
	return begun
}
