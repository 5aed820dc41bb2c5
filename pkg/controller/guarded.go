package controller

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/guard"
	"github.com/rancher/helm-locker/pkg/lock"
)

// guardedBy returns the resources and namespaces to guard for a lock; nil for none.
func guardedBy(l *lock.Lock) *guard.Wanted {
	if !l.Spec.Guard.IsOn() {
		return nil
	}
	resources, namespaces := map[schema.GroupVersionResource]guard.Resource{}, map[string]struct{}{}
	for _, o := range l.Objects() {
		resources[o.GVR] = guard.Resource{GroupVersionResource: o.GVR, Namespaced: o.Namespaced,
			Scale: o.Scalable || resources[o.GVR].Scale}
		switch {
		case o.Namespaced:
			namespaces[o.ID.Namespace] = struct{}{}
		case o.ID.GroupKind() == schema.GroupKind{Kind: "Namespace"}: // matched against its own labels
			namespaces[o.ID.Name] = struct{}{}
		}
	}
	return &guard.Wanted{Denies: l.Spec.Guard == v1alpha1.GuardDeny, Resources: slices.Collect(maps.Values(resources)),
		Namespaces: slices.Collect(maps.Keys(namespaces))}
}

// guardWanted signals a possible change of the set of guarded kinds to the registration of the guard.
func (c *common) guardWanted() {
	select {
	case c.guardChanged <- struct{}{}:
	default: // a token is there already
	}
}

// wanted returns the scope of the guard: the kinds of the guarded releases, in the namespaces of their objects. It
// includes a release with Helm at work, because this release is locked again soon.
func (c *common) wanted() guard.Wanted {
	resources, namespaces := map[schema.GroupVersionResource]guard.Resource{}, map[string]struct{}{}
	denies := false
	c.entries.each(func(_ string, e *entry) {
		if e.guarded == nil {
			return
		}
		denies = denies || e.guarded.Denies
		for _, r := range e.guarded.Resources {
			r.Scale = r.Scale || resources[r.GroupVersionResource].Scale
			resources[r.GroupVersionResource] = r
		}
		for _, name := range e.guarded.Namespaces {
			namespaces[name] = struct{}{}
		}
	})
	var records []string
	if c.Witnessed {
		for _, storage := range c.Storages {
			records = append(records, storage.GVR().Resource)
		}
	}
	ordered := slices.SortedFunc(maps.Values(resources), func(a, b guard.Resource) int {
		return strings.Compare(a.String(), b.String())
	})
	return guard.Wanted{Records: records, Denies: denies, Resources: ordered,
		Namespaces: slices.Sorted(maps.Keys(namespaces))}
}

// Admit answers the API server's question about a request to change or delete an object, before it is carried out.
func (c *Controller) Admit(ctx context.Context, r *admissionv1.AdmissionRequest) guard.Decision {
	return c.admission.Decide(ctx, r)
}

// Witness records whether the writer of a release record may carry out the record. Every request passes.
func (c *Controller) Witness(ctx context.Context, r *admissionv1.AdmissionRequest) guard.Decision {
	return c.witness.See(ctx, r)
}

// Guarded returns the scope of the guard at the API server. It is complete once Warm is closed.
func (c *Controller) Guarded() guard.Wanted { return c.wanted() }

// GuardedChanged delivers a token when the result of Guarded may have changed.
func (c *Controller) GuardedChanged() <-chan struct{} { return c.guardChanged }

// Warm is closed once the releases present at the start are locked.
func (c *Controller) Warm() <-chan struct{} { return c.warm }

// SetGuard records the registration of the guard at the API server, for the statuses.
func (c *Controller) SetGuard(s guard.State) {
	if before := c.guardState.Swap(&s); before != nil && reflect.DeepEqual(*before, s) {
		return
	}
	c.entries.each(func(key string, _ *entry) { c.statusChanged(key) })
}

// notServed is the state of an operator without a guard.
var notServed = guard.State{Reason: v1alpha1.ReasonGuardNotServed,
	Message: "the operator serves no guard: set guard.enabled in the values of its chart (--guard-address)"}
