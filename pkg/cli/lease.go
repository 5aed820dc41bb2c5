package cli

import (
	"context"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	teams "github.com/rancher/helm-locker/pkg/apis/teams.helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/inspect"
)

// leases report whether operators run: the replicas of one compete for a Lease, and the leader renews it.
type leases struct {
	c   *connection
	now func() time.Time
}

// stopped returns the time of the last renewal by the operator of a HelmRelease, if it no longer runs. It returns
// false when it runs, and when that is unknown: there is no Lease (the operator runs without leader election, or has
// never run), or the user may not get it.
func (l leases) stopped(ctx context.Context, hr *v1alpha1.HelmRelease) (seen time.Time, stopped bool) {
	key, ok := leaseOf(hr)
	if !ok {
		return time.Time{}, false
	}
	lease, err := l.get(ctx, key)
	if err != nil {
		return time.Time{}, false
	}
	return inspect.LastSeen(lease.Spec, l.now())
}

func (l leases) get(ctx context.Context, key types.NamespacedName) (*coordinationv1.Lease, error) {
	return get[coordinationv1.Lease](ctx, l.in(key.Namespace), key.Name)
}

func (l leases) in(namespace string) dynamic.ResourceInterface {
	return l.c.Dynamic.Resource(coordinationv1.SchemeGroupVersion.WithResource("leases")).Namespace(namespace)
}

// operatorsOf returns the Leases of the operators of HelmReleases, without repetition; the usual one without any.
func operatorsOf(locks []*v1alpha1.HelmRelease, usual types.NamespacedName) []types.NamespacedName {
	var keys []types.NamespacedName
	for _, hr := range locks {
		if key, ok := leaseOf(hr); ok && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return []types.NamespacedName{usual}
	}
	return keys
}

// leaseOf returns the Lease of a HelmRelease's operator; false for an unclaimed one.
func leaseOf(hr *v1alpha1.HelmRelease) (types.NamespacedName, bool) {
	name, ok := inspect.LeaseOf(hr)
	return types.NamespacedName{Namespace: hr.Namespace, Name: name}, ok
}

// ended is an operator that no longer runs.
type ended struct {
	lease types.NamespacedName
	seen  time.Time
	// warning reports that.
	warning string
}

// ended returns the operators of HelmReleases that no longer run.
func (l leases) ended(ctx context.Context, found []*v1alpha1.HelmRelease) []ended {
	var all []ended
	asked := map[types.NamespacedName]bool{}
	for _, hr := range found {
		key, ok := leaseOf(hr)
		if !ok || asked[key] {
			continue
		}
		asked[key] = true
		if seen, stopped := l.stopped(ctx, hr); stopped {
			all = append(all, ended{key, seen, inspect.NotRunning(hr, seen) +
				"; its releases are not protected now, and their statuses are from then"})
		}
	}
	return all
}

// handover is the time in which another process takes the Lease of one that has ended.
const handover = 20 * time.Second

// taken waits for the time of a handover, and reports whether an operator has the Lease by then.
func (l leases) taken(ctx context.Context, key types.NamespacedName) bool {
	ctx, cancel := context.WithTimeout(ctx, handover)
	defer cancel()
	renewed := func(event watch.EventType, of *coordinationv1.Lease) (bool, error) {
		_, stopped := inspect.LastSeen(of.Spec, l.now())
		return event != watch.Deleted && !stopped, nil
	}
	return until(ctx, l.in(key.Namespace), called(key.Name), renewed) == nil
}

// gone returns the operator of a HelmRelease if it no longer runs, and no other process takes its Lease.
func (l leases) gone(ctx context.Context, hr *v1alpha1.HelmRelease) (ended, bool) {
	operators := l.ended(ctx, []*v1alpha1.HelmRelease{hr})
	if len(operators) == 0 || l.taken(ctx, operators[0].lease) {
		return ended{}, false
	}
	return operators[0], true
}

// outdate makes Ready and Locked of a HelmRelease Unknown if its operator no longer runs, as a ReleaseLock has them.
func outdate(hr *v1alpha1.HelmRelease, operators []ended) {
	key, _ := leaseOf(hr)
	for _, o := range operators {
		for i := range hr.Status.Conditions {
			c := &hr.Status.Conditions[i]
			if o.lease != key || c.Type != v1alpha1.ConditionReady && c.Type != v1alpha1.ConditionLocked {
				continue
			}
			c.Status, c.Reason, c.Message = metav1.ConditionUnknown, teams.ReasonOperatorNotRunning, o.warning
			c.LastTransitionTime = metav1.NewTime(o.seen)
		}
	}
}

// noteEnded prints that operators do not run.
func noteEnded(a *action, operators []ended) {
	for _, o := range operators {
		a.note("warning: %s", o.warning)
	}
}
