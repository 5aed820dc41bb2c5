package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/urfave/cli/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

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
func (a *app) waitIfAsked(
	ctx context.Context, cmd *cli.Command, store *helmReleases, all []*v1alpha1.HelmRelease, until waitFor,
) error {
	if !cmd.Bool("wait") || cmd.Bool("dry-run") || len(all) == 0 {
		return nil
	}
	waiting, limit := ctx, cmd.Duration("timeout")
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
	a.noteEnded(l.ended(ctx, undone))
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
		return a.notDone(pending, len(all), limit)
	}
	return err
}

// notDone describes the pending waits.
func (a *app) notDone(pending map[string]*waited, all int, limit time.Duration) error {
	name := slices.Sorted(maps.Keys(pending))[0]
	hint := fmt.Sprintf("%s status %s shows more; --timeout waits longer", a.name, name)
	if all == 1 {
		return command.Hinted(fmt.Errorf("not done after %s; still waiting for %s", limit, pending[name].last), hint)
	}
	return command.Hinted(fmt.Errorf("%d of %d are not done after %s; %s, say, waits for %s", len(pending), all, limit,
		keyOf(pending[name].HelmRelease), pending[name].last), hint)
}

// follow calls do for a HelmRelease, or for all of them if name is empty: first as they are, then for each change,
// until do returns true or an error, or ctx ends. Broken watches are taken up again.
func (h *helmReleases) follow(
	ctx context.Context, name string, do func(watch.EventType, *v1alpha1.HelmRelease) (bool, error),
) error {
	selector := ""
	if name != "" {
		selector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
	}
	// The first list is explicit: a missing permission or kind would be retried for ever otherwise.
	if _, err := h.client.List(ctx, metav1.ListOptions{FieldSelector: selector, Limit: 1}); err != nil {
		return h.apiError("list the HelmReleases", err)
	}
	probe, err := h.client.Watch(ctx, metav1.ListOptions{FieldSelector: selector})
	if err != nil {
		return h.apiError("watch the HelmReleases", err)
	}
	probe.Stop()
	source := selected(h.client, selector)
	_, err = watchtools.UntilWithSync(ctx, source, &unstructured.Unstructured{}, nil,
		func(event watch.Event) (bool, error) {
			object, ok := event.Object.(*unstructured.Unstructured)
			if !ok {
				return false, nil
			}
			hr, err := typed(object)
			if err != nil {
				return false, err
			}
			return do(event.Type, hr)
		})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// selected lists and watches the objects of a client with a field selector.
func selected(client dynamic.ResourceInterface, selector string) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = selector
			return client.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = selector
			return client.Watch(ctx, o)
		},
	}
}
