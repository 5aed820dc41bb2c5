package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/policy"
	"github.com/rancher/helm-locker/pkg/watch"
)

const (
	// policyDelay coalesces what happens before a plan is made.
	policyDelay = 100 * time.Millisecond
	// policyEffort is how many times as long as making a plan took nothing is planned after it: the releases of a
	// tenant, as many as he makes, take no more than a share of a processor.
	policyEffort = 10
	// policyRetry is the time between two tries to start the watch of policies.
	policyRetry = 5 * time.Second
	// policyWrites bounds how many HelmReleases are written at the same time.
	policyWrites = 8
	// thePlan is the only key of the queue: all policies are planned together, since one decides what is another's.
	thePlan = "policies"
)

// policies is the worker that keeps the HelmReleases of HelmReleasePolicies. It gathers what package policy decides
// by, and carries the plan out. Its fields, but for active, are used by one goroutine.
type policies struct {
	*common
	namespaces *watch.Namespaces
	ownWrites  ownWrites
	// active is set while there are policies; without any nothing is planned.
	active atomic.Bool
	// notBefore is when the next plan may be made.
	notBefore time.Time
	told      map[string]toldPolicy // by policy name
	// served is closed when the API server serves the kind of policies.
	served  chan struct{}
	serving sync.Once
}

func newPolicies(c *common) *policies {
	ps := &policies{common: c, told: map[string]toldPolicy{}, served: make(chan struct{})}
	ps.namespaces = watch.NewNamespaces(c.clients.WatchMetadata, c.Log, ps.changed)
	return ps
}

// changed has the policies planned soon.
func (ps *policies) changed() {
	if ps.active.Load() {
		ps.queues.policies.AddAfter(thePlan, policyDelay)
	}
}

// policyChanged is called for a policy that came, changed or went.
func (ps *policies) policyChanged(
	key string, p *v1alpha1.HelmReleasePolicy,
) (*v1alpha1.HelmReleasePolicy, error) {
	if p == nil {
		ps.ownWrites.policies.gone(nameOf(key))
	}
	ps.active.Store(true)
	ps.changed()
	return p, nil
}

// helmReleaseChanged is called for a HelmRelease that came, changed or went.
func (ps *policies) helmReleaseChanged(key string, hr *v1alpha1.HelmRelease) {
	if hr == nil {
		ps.ownWrites.releases.gone(nameOf(key))
	}
	ps.changed()
}

// nameOf returns the name in the key of an object.
func nameOf(key string) string { return key[strings.LastIndex(key, "/")+1:] }

// definitionChanged is called for each CustomResourceDefinition.
func (ps *policies) definitionChanged(crd *metav1.PartialObjectMetadata) {
	switch crd.Name {
	case v1alpha1.Resource(v1alpha1.PolicyResourceName).String():
		ps.serving.Do(func() { close(ps.served) })
	case v1alpha1.Resource(v1alpha1.HelmReleaseResourceName).String():
		ps.ownWrites.tryAgain()
		ps.changed()
	}
}

// start follows the policies as soon as there is a CustomResourceDefinition of them, which an operator with --skip-crd
// can do without. It tries again when the API server refuses, since no other worker depends on it.
func (ps *policies) start(ctx context.Context) {
	select {
	case <-ps.served:
	case <-ctx.Done():
		return
	}
	for {
		err := ps.clients.StartPolicies(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		ps.Log.Warnf("watch HelmReleasePolicies: %s; trying again", safeError(err))
		select {
		case <-ps.Clock.After(policyRetry):
		case <-ctx.Done():
			return
		}
	}
}

// next makes a plan and carries it out.
func (ps *policies) next(ctx context.Context) bool {
	key, shutdown := ps.queues.policies.Get()
	if shutdown {
		return false
	}
	defer ps.queues.policies.Done(key)
	begun := ps.Clock.Now()
	if wait := ps.notBefore.Sub(begun); wait > 0 {
		ps.queues.policies.AddAfter(key, wait)
		return true
	}
	switch again, err := ps.reconcile(ctx); {
	case err != nil:
		ps.Log.Warnf("policies: %v; trying again", err)
		ps.queues.policies.AddRateLimited(key)
	default:
		ps.queues.policies.Forget(key)
		if !again.IsZero() {
			ps.queues.policies.AddAfter(key, again.Sub(ps.Clock.Now()))
		}
	}
	return true
}

// reconcile brings the HelmReleases of policies in line with them. It returns when to do so again without any event;
// zero for never.
func (ps *policies) reconcile(ctx context.Context) (again time.Time, err error) {
	begun := time.Now()
	in, ready, err := ps.input(ctx)
	if err != nil || !ready {
		return time.Time{}, err
	}
	plan := policy.Make(in)
	ps.notBefore = ps.Clock.Now().Add(policyEffort * time.Since(begun))
	ps.measurePolicies(plan)
	if !ps.leading.Load() {
		return time.Time{}, nil
	}
	for _, s := range plan.Policies {
		if !ps.mine(s.Policy) {
			continue
		}
		e := ps.carryOut(ctx, s, plan.Results)
		again = earlier(again, ps.tell(s, e))
		if err == nil {
			err = e.err
		}
	}
	return earlier(again, ps.ownWrites.unseenUntil()), err
}

// mine reports whether this operator handles a policy: it is in its shard.
func (ps *policies) mine(p *v1alpha1.HelmReleasePolicy) bool {
	return ps.Shard == nil || ps.Shard.Matches(labels.Set(p.Labels))
}

// input gathers what a plan is made of. It is not ready while something is read for the first time; that it has been
// is an event.
func (ps *policies) input(ctx context.Context) (in policy.Input, ready bool, err error) {
	all, err := ps.clients.Policies.Cache().List(ps.Namespace, everything)
	if err != nil {
		return in, false, fmt.Errorf("list HelmReleasePolicies: %w", err)
	}
	ps.active.Store(len(all) > 0)
	if len(all) == 0 {
		ps.records.KeepLabels(nil)
		ps.namespaces.Drop()
		ps.measurePolicies(policy.Plan{})
		return in, false, nil
	}
	hrs, err := ps.clients.HelmReleases.Cache().List(ps.Namespace, everything)
	if err != nil {
		return in, false, fmt.Errorf("list HelmReleases: %w", err)
	}
	now := ps.Clock.Now()
	in = policy.Input{
		Namespace: ps.Namespace, Controller: ps.Name, Impersonate: ps.Accounts.Impersonate, Now: now,
		Policies: ps.ownWrites.policies.newest(all, now), HelmReleases: ps.ownWrites.releases.newest(hrs, now),
	}
	keys, namespaces := needs(all)
	if !ps.records.KeepLabels(keys) {
		return in, false, nil
	}
	if !namespaces {
		ps.namespaces.Drop()
	} else if of, known, err := ps.namespaces.Labels(ctx); known || err != nil {
		in.Namespaces, in.NamespacesErr = of, err
	} else {
		return in, false, nil
	}
	for _, r := range ps.records.Labelled() {
		in.Releases = append(in.Releases, policy.Release{Key: r.Key, Labels: r.Labels})
	}
	return in, true, nil
}

// needs returns the keys of the labels of releases that some policies select by, and whether they select by labels of
// namespaces.
func needs(all []*v1alpha1.HelmReleasePolicy) (keys []string, namespaces bool) {
	for _, p := range all {
		m, err := policy.Compile(&p.Spec)
		if err != nil { // the plan says so
			continue
		}
		keys = append(keys, m.LabelKeys()...)
		namespaces = namespaces || m.NeedsNamespaces()
	}
	slices.Sort(keys)
	return slices.Compact(keys), namespaces
}

// carryOut writes what a plan says of one policy.
func (ps *policies) carryOut(ctx context.Context, s policy.Summary, results []policy.Result) *effect {
	e := &effect{}
	if err := ps.claimPolicy(s.Policy); err != nil {
		e.failed(err)
		return e
	}
	group := errgroup.Group{}
	group.SetLimit(policyWrites)
	for _, r := range results {
		if r.Policy != s.Policy || !r.Writes() {
			continue
		}
		if ctx.Err() != nil || !ps.leading.Load() {
			e.interrupted()
			break
		}
		group.Go(func() error {
			e.add(r, ps.write(r))
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		e.failed(err)
	}
	return e
}
