package ledger

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/guard"
	"github.com/rancher/helm-locker/pkg/lock"
)

// GuardedBy returns the resources and namespaces to guard for a lock; nil for none.
func GuardedBy(l *lock.Lock) *guard.Wanted {
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

// GuardChanged signals a possible change of the set of guarded kinds to the registration of the guard.
func (ld *Ledger) GuardChanged() {
	select {
	case ld.guardChanged <- struct{}{}:
	default: // a token is there already
	}
}

// Guarded returns the scope of the guard: the kinds of the guarded releases, in the namespaces of their objects. It
// includes a release with Helm at work, because this release is locked again soon. records are the resources of release
// records whose writers are asked about.
func (ld *Ledger) Guarded(records []string) guard.Wanted {
	resources, namespaces := map[schema.GroupVersionResource]guard.Resource{}, map[string]struct{}{}
	denies := false
	ld.Each(func(_ string, e *Entry) {
		if e.Guards == nil {
			return
		}
		denies = denies || e.Guards.Denies
		for _, r := range e.Guards.Resources {
			r.Scale = r.Scale || resources[r.GroupVersionResource].Scale
			resources[r.GroupVersionResource] = r
		}
		for _, name := range e.Guards.Namespaces {
			namespaces[name] = struct{}{}
		}
	})
	ordered := slices.SortedFunc(maps.Values(resources), func(a, b guard.Resource) int {
		return strings.Compare(a.String(), b.String())
	})
	return guard.Wanted{Records: records, Denies: denies, Resources: ordered,
		Namespaces: slices.Sorted(maps.Keys(namespaces))}
}

// GuardChanges delivers a token after GuardChanged.
func (ld *Ledger) GuardChanges() <-chan struct{} { return ld.guardChanged }
