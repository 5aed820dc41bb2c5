package policies

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/labels"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/policy"
)

// reconcile brings the HelmReleases of policies in line with them. It returns the time of the next run without an
// event; zero for none.
func (w *worker) reconcile(ctx context.Context) (again time.Time, err error) {
	begun := time.Now()
	in, ready, err := w.input(ctx)
	if err != nil || !ready {
		return time.Time{}, err
	}
	plan := policy.Make(in)
	w.notBefore = w.Clock.Now().Add(policyEffort * time.Since(begun))
	w.measure(plan)
	if !w.leading.Load() {
		return time.Time{}, nil
	}
	for _, s := range plan.Policies {
		if !w.mine(s.Policy) {
			continue
		}
		e := w.carryOut(ctx, s, plan.Results)
		again = earlier(again, w.report(s, e))
		if err == nil {
			err = e.err
		}
	}
	return earlier(again, w.ownWrites.unseenUntil()), err
}

// input gathers the input of a plan. It is not ready during the first read of a part; the end of that is an event.
func (w *worker) input(ctx context.Context) (in policy.Input, ready bool, err error) {
	all, err := w.policies.Cache().List(w.Namespace, labels.Everything())
	if err != nil {
		return in, false, fmt.Errorf("list HelmReleasePolicies: %w", err)
	}
	w.active.Store(len(all) > 0)
	if len(all) == 0 {
		w.labels.keep(nil)
		w.namespaces.drop()
		w.measure(policy.Plan{})
		return in, false, nil
	}
	hrs, err := w.helmReleases.Cache().List(w.Namespace, labels.Everything())
	if err != nil {
		return in, false, fmt.Errorf("list HelmReleases: %w", err)
	}
	now := w.Clock.Now()
	in = policy.Input{
		Namespace: w.Namespace, Controller: w.ControllerName, Bounded: w.Impersonate || w.Witnessed, Now: now,
		Policies: w.ownWrites.policies.newest(all, now), HelmReleases: w.ownWrites.releases.newest(hrs, now),
	}
	keys, namespaces := needs(all)
	if !w.labels.keep(keys) {
		return in, false, nil
	}
	if !namespaces {
		w.namespaces.drop()
	} else if of, known, err := w.namespaces.labels(ctx); known || err != nil {
		in.Namespaces, in.NamespacesErr = of, err
	} else {
		return in, false, nil
	}
	for _, r := range w.records.Labelled() {
		in.Releases = append(in.Releases, policy.Release{Key: r.Key, Labels: r.Labels})
	}
	return in, true, nil
}

// needs returns the keys of release labels in the selectors of some policies, and whether they select by labels of
// namespaces.
func needs(all []*v1alpha1.HelmReleasePolicy) (keys []string, namespaces bool) {
	for _, p := range all {
		m, err := policy.Compile(&p.Spec)
		if err != nil { // the plan reports it
			continue
		}
		keys = append(keys, m.LabelKeys()...)
		namespaces = namespaces || m.NeedsNamespaces()
	}
	slices.Sort(keys)
	return slices.Compact(keys), namespaces
}

// carryOut carries out the part of a plan for one policy.
func (w *worker) carryOut(ctx context.Context, s policy.Summary, results []policy.Result) *effect {
	e := &effect{}
	if err := w.claimPolicy(s.Policy); err != nil {
		e.failed(err)
		return e
	}
	group := errgroup.Group{}
	group.SetLimit(policyWrites)
	for _, r := range results {
		if r.Policy != s.Policy || !r.Writes() {
			continue
		}
		if ctx.Err() != nil || !w.leading.Load() {
			e.interrupted()
			break
		}
		group.Go(func() error {
			e.add(r, w.write(r))
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		e.failed(err)
	}
	return e
}
