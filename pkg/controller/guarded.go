package controller

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/guard"
	"github.com/rancher/helm-locker/pkg/lock"
)

// isGuarded reports whether a lock asks for the guard.
func isGuarded(l *lock.Lock) bool {
	return l.Spec.Guard == v1alpha1.GuardWarn || l.Spec.Guard == v1alpha1.GuardDeny
}

// guardedBy returns what the guard has to be asked about for a lock; nil for nothing.
func guardedBy(l *lock.Lock) *guard.Wanted {
	if !isGuarded(l) {
		return nil
	}
	scalable := l.Scalable()
	resources, namespaces := map[schema.GroupVersionResource]guard.Resource{}, map[string]struct{}{}
	for _, o := range l.Places() {
		resources[o.GVR] = guard.Resource{GroupVersionResource: o.GVR, Namespaced: o.Namespaced,
			Scale: scalable[o.GVK]}
		if o.Namespaced {
			namespaces[o.ID.Namespace] = struct{}{}
		}
	}
	for _, name := range l.Namespaces() { // the API server matches a Namespace against its own labels
		namespaces[name] = struct{}{}
	}
	return &guard.Wanted{Resources: slices.Collect(maps.Values(resources)),
		Namespaces: slices.Collect(maps.Keys(namespaces))}
}

// guardWanted tells whoever keeps the guard registered that what it is to be asked about may have changed.
func (c *common) guardWanted() {
	select {
	case c.guardChanged <- struct{}{}:
	default: // told already
	}
}

// wanted returns what the API server is to ask the guard about: the kinds of the guarded releases, in the namespaces
// that their objects are in. A release that Helm works on is one of them, as it is locked again soon.
func (ad *admission) wanted() guard.Wanted {
	resources, namespaces := map[schema.GroupVersionResource]guard.Resource{}, map[string]struct{}{}
	ad.entries.each(func(_ string, e *entry) {
		if e.guarded == nil {
			return
		}
		for _, r := range e.guarded.Resources {
			r.Scale = r.Scale || resources[r.GroupVersionResource].Scale
			resources[r.GroupVersionResource] = r
		}
		for _, name := range e.guarded.Namespaces {
			namespaces[name] = struct{}{}
		}
	})
	return guard.Wanted{
		Resources: slices.SortedFunc(maps.Values(resources), func(a, b guard.Resource) int {
			return strings.Compare(a.String(), b.String())
		}),
		Namespaces: slices.Sorted(maps.Keys(namespaces)),
	}
}

// Admit answers a request to change or delete an object that the API server asks about before it carries it out.
func (c *Controller) Admit(ctx context.Context, r *admissionv1.AdmissionRequest) guard.Decision {
	return c.admission.decide(ctx, r)
}

// Guarded returns what the API server is to ask about. It is complete once Warm is closed.
func (c *Controller) Guarded() guard.Wanted { return c.admission.wanted() }

// GuardedChanged delivers a token when what Guarded returns may be another.
func (c *Controller) GuardedChanged() <-chan struct{} { return c.guardChanged }

// Warm is closed once the releases that were there at the start are locked.
func (c *Controller) Warm() <-chan struct{} { return c.warm }

// SetGuard records what the API server asks about. Statuses tell it.
func (c *Controller) SetGuard(s guard.State) {
	if before := c.guardState.Swap(&s); before != nil && reflect.DeepEqual(*before, s) {
		return
	}
	c.entries.each(func(key string, _ *entry) { c.statusChanged(key) })
}

// guardedCondition reports whether the guard that a HelmRelease asks for is in force.
func guardedCondition(v *view, set setter) {
	switch wanted := v.entry.guarded; {
	case v.guard.Reason != "":
		set(v1alpha1.ConditionGuarded, metav1.ConditionFalse, v.guard.Reason, v.guard.Message)
	case wanted == nil:
		set(v1alpha1.ConditionGuarded, metav1.ConditionFalse, v1alpha1.ReasonNotLocked, "the release is not locked")
	case !v.guard.Asked.Covers(wanted):
		set(v1alpha1.ConditionGuarded, metav1.ConditionFalse, v1alpha1.ReasonGuardNotRegistered,
			"the API server is being told to ask the guard about the objects of the release")
	default:
		set(v1alpha1.ConditionGuarded, metav1.ConditionTrue, v1alpha1.ReasonGuarded,
			"the API server asks the guard before it changes or deletes an object of the release")
	}
}

// notServed is the state of an operator that serves no guard.
var notServed = guard.State{Reason: v1alpha1.ReasonGuardNotServed,
	Message: "the operator serves no guard: set guard.enabled in the values of its chart (--guard-address)"}
