package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/report"
)

// waitFor reports whether a HelmRelease has the wanted state, and describes the missing one otherwise.
type waitFor func(hr *v1alpha1.HelmRelease) (done bool, waiting string)

// isLocked waits for a lock in the state required by the spec, and for its guard.
func isLocked(hr *v1alpha1.HelmRelease) (bool, string) {
	ready := meta.FindStatusCondition(hr.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.ObservedGeneration < hr.Generation {
		return false, "an operator"
	}
	if ready.Status != metav1.ConditionTrue || ready.Reason == v1alpha1.ReasonSuspended ||
		ready.Reason == v1alpha1.ReasonInWindow {
		return false, ready.Reason + ": " + ready.Message
	}
	if !report.GuardMissing(hr) {
		return true, ""
	}
	guarded := meta.FindStatusCondition(hr.Status.Conditions, v1alpha1.ConditionGuarded)
	if guarded == nil {
		return false, "the guard"
	}
	return false, "the guard: " + guarded.Reason + ": " + guarded.Message
}

func isSuspended(hr *v1alpha1.HelmRelease) (bool, string) {
	ready := meta.FindStatusCondition(hr.Status.Conditions, v1alpha1.ConditionReady)
	if ready != nil && ready.Reason == v1alpha1.ReasonSuspended && ready.ObservedGeneration >= hr.Generation {
		return true, ""
	}
	return false, "an operator to unlock it"
}

// waited is a HelmRelease with a pending wait.
type waited struct {
	*v1alpha1.HelmRelease
	last string // what it waits for
}

// waitIfAsked waits, if the flags ask for it, until HelmReleases are as wanted.
func waitIfAsked(
	ctx context.Context, a *action, store *helmReleases, all []*v1alpha1.HelmRelease, until waitFor,
) error {
	if !a.cmd.Bool("wait") || a.cmd.Bool("dry-run") || len(all) == 0 {
		return nil
	}
	waiting, limit := ctx, a.cmd.Duration("timeout")
	if limit > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	// A single one needs no name in the output.
	only, of := all[0].Name, func(*v1alpha1.HelmRelease) string { return "" }
	if len(all) > 1 {
		only, of = "", func(hr *v1alpha1.HelmRelease) string { return "release " + keyOf(hr).String() + ": " }
	}
	pending := map[string]*waited{}
	var undone []*v1alpha1.HelmRelease
	for _, hr := range all {
		// The wanted state is known from the written object: it is printed even if the operator has reached it before
		// the first read, and the error names it if the timeout ends before the first read.
		done, last := until(hr)
		pending[hr.Name] = &waited{hr, last}
		if !done {
			a.note("%swaiting for %s", of(hr), last)
			undone = append(undone, hr)
		}
	}
	l := leases{c: store.cluster, now: a.now}
	noteEnded(a, l.ended(ctx, undone))
	err := store.follow(waiting, only, func(event watch.EventType, now *v1alpha1.HelmRelease) (bool, error) {
		w := pending[now.Name]
		if w == nil {
			return false, nil
		}
		if event == watch.Deleted || now.UID != w.UID {
			return false, fmt.Errorf("HelmRelease %s/%s was deleted", w.Namespace, w.Name)
		}
		done, last := until(now)
		if done && report.LockState(now, a.now()) == report.LockedYes {
			if o, gone := l.gone(waiting, now); gone {
				return false, command.Hinted(errors.New(o.warning), a.name+" check shows more")
			}
		}
		switch {
		case done && now.Status.Revision > 0:
			a.note("%sdone: revision %d is %s, %s", of(now), now.Status.Revision,
				report.LockWords(report.LockState(now, a.now())), plain.Count(now.Status.Objects.Tracked, "object"))
		case done:
			a.note("%sdone", of(now))
		case last != w.last:
			a.note("%swaiting for %s", of(now), last)
			w.last = last
		}
		if done {
			delete(pending, now.Name)
		}
		return len(pending) == 0, nil
	})
	if err != nil && errors.Is(waiting.Err(), context.DeadlineExceeded) && ctx.Err() == nil {
		return notDone(a, pending, len(all), limit)
	}
	return err
}

// notDone describes the pending waits.
func notDone(a *action, pending map[string]*waited, all int, limit time.Duration) error {
	name := slices.Sorted(maps.Keys(pending))[0]
	hint := fmt.Sprintf("%s status %s shows more; --timeout waits longer", a.name, name)
	if all == 1 {
		return command.Hinted(fmt.Errorf("not done after %s; still waiting for %s", limit, pending[name].last), hint)
	}
	return command.Hinted(fmt.Errorf("%d of %d are not done after %s; %s, say, waits for %s", len(pending), all, limit,
		keyOf(pending[name].HelmRelease), pending[name].last), hint)
}
