package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/report"
	"github.com/rancher/helm-locker/pkg/rules"
)

// locks gathers the HelmReleases of a release, and the drift of its object.
func (t *tracer) locks(ctx context.Context, of *origin) {
	options := inspect.CompareOptions{Withhold: onlyThis(of.at.id)}
	all, fromLocks, err := t.helmReleases(t.action.cmd.String("helmrelease-namespace"), false).listOrLocks(ctx, of.key.Namespace,
		func(hr *v1alpha1.HelmRelease) bool { return keyOf(hr) == of.key })
	if err != nil && !errors.Is(err, errNoHelmReleases) {
		t.out.HelmReleasesUnknown = err.Error()
		t.unreadLocks = err
	}
	for _, hr := range all {
		lock := t.lock(ctx, hr)
		if fromLocks {
			lock.ReadFrom, lock.OperatorReason = lockNamed(hr), "a ReleaseLock does not show it"
		}
		compiled, err := rules.Compile(hr.Spec.Ignore)
		if err != nil {
			lock.Message = err.Error()
		}
		if of.object != nil {
			lock.Ignored = matching(hr.Spec.Ignore, *of.object)
		}
		options.Rules = compiled
		options.Strict = options.Strict || hr.Spec.Scope == v1alpha1.ScopeStrict
		t.out.HelmReleases = append(t.out.HelmReleases, lock)
	}
	if of.object != nil {
		t.drift(ctx, of, options)
	}
}

// onlyThis withholds all objects but one.
func onlyThis(id manifest.ID) func(context.Context, []manifest.Object) (map[manifest.ID]string, error) {
	return func(_ context.Context, objects []manifest.Object) (map[manifest.ID]string, error) {
		others := make(map[manifest.ID]string, len(objects))
		for i := range objects {
			if objects[i].ID != id {
				others[objects[i].ID] = "another object was asked for"
			}
		}
		return others, nil
	}
}

// matching returns the rules that concern an object. An invalid rule concerns none: none of them is in force then.
func matching(ignore []v1alpha1.IgnoreRule, o manifest.Object) []v1alpha1.IgnoreRule {
	var found []v1alpha1.IgnoreRule
	for i := range ignore {
		compiled, err := rules.Compile(ignore[i : i+1])
		if err == nil && compiled.Declared(o) != nil {
			found = append(found, ignore[i])
		}
	}
	return found
}

func (t *tracer) lock(ctx context.Context, hr *v1alpha1.HelmRelease) tracedLock {
	now := t.now()
	out := tracedLock{Name: hr.Name, Namespace: hr.Namespace, Mode: hr.Spec.Mode, Scope: hr.Spec.Scope,
		Locked: report.LockState(hr, now), Ready: answerUnknown}
	if owner := v1alpha1.PolicyOf(hr); owner != nil {
		out.Policy = owner.Name
	}
	if out.Locked == report.LockedSuspended {
		out.Suspended = strings.TrimSpace(report.SuspendedFor(hr))
	}
	out.Reason, out.Message, _ = report.Ready(hr)
	if ready := meta.FindStatusCondition(hr.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
		out.Ready = string(ready.Status)
	}
	t.operator(ctx, hr, &out)
	if f := lockFinding(hr, now); f.Level != levelOK {
		out.advice = f.Advice
	}
	return out
}

// operator finds out whether the operator of a HelmRelease runs.
func (t *tracer) operator(ctx context.Context, hr *v1alpha1.HelmRelease, out *tracedLock) {
	out.Operator = answerUnknown
	key, claimed := leaseOf(hr)
	if !claimed {
		out.OperatorReason = "none has taken up the HelmRelease"
		return
	}
	lease, err := leases{c: t.connection, now: t.now}.get(ctx, key)
	switch {
	case apierrors.IsNotFound(err):
		out.OperatorReason = fmt.Sprintf("there is no Lease %s: it runs without leader election, or has never run", key)
		return
	case err != nil:
		out.OperatorReason = err.Error()
		return
	}
	seen, stopped := inspect.LastSeen(lease.Spec, t.now())
	if seen.IsZero() {
		out.OperatorReason = fmt.Sprintf("no operator has renewed the Lease %s", key)
		return
	}
	out.Operator, out.OperatorSeen = operatorRunning, report.Time(seen)
	if stopped {
		out.Operator = operatorStopped
	}
}

// drift compares the object as diff does.
func (t *tracer) drift(ctx context.Context, of *origin, options inspect.CompareOptions) {
	t.out.Drift = &tracedDrift{State: driftNone}
	unknown := func(err error) { t.out.Drift = &tracedDrift{State: answerUnknown, Reason: err.Error()} }
	masker, err := newMasker(false)
	if err != nil {
		unknown(err)
		return
	}
	options.Masker = masker
	c, err := inspect.Compare(ctx, t.connection, of.details, options)
	if err != nil {
		unknown(err)
		return
	}
	t.out.Drift.Local = c.Local
	for _, failure := range c.Failures {
		unknown(failure.Err)
	}
	for _, left := range c.Left {
		if why, found := strings.CutPrefix(left, of.at.id.String()+": "); found {
			t.out.Drift = &tracedDrift{State: driftLeft, Reason: why}
		}
	}
	for i := range c.Differences {
		d := &c.Differences[i]
		if d.ID != of.object.ID {
			continue // of a kind that is not served
		}
		t.out.Drift.State, t.out.Drift.words = driftDrifted, whatDiffers(d)
		t.out.Drift.Changes = fieldChanges(d, []manifest.Object{*of.object})
		if len(d.Changes) > 0 {
			t.out.Drift.blame = inspect.Blame(d.Changes, t.now())
		} else {
			t.out.Drift.Reason = t.out.Drift.words
		}
	}
}
