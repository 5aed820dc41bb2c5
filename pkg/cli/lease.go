package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
)

// leases tell whether operators run: the replicas of one compete for a Lease, and the leader renews it.
type leases struct {
	c   *connection
	now func() time.Time
}

// stopped returns when the operator of a HelmRelease was last seen, if it does not run any more. It returns false when
// it runs, and when that is not known: there is no Lease (the operator runs without leader election, or has never
// run), or the user may not get it.
func (l leases) stopped(ctx context.Context, hr *v1alpha1.HelmRelease) (seen time.Time, stopped bool) {
	key, ok := leaseOf(hr)
	if !ok {
		return time.Time{}, false
	}
	lease, err := l.get(ctx, key)
	if err != nil {
		return time.Time{}, false
	}
	return lastSeen(lease, l.now())
}

func (l leases) get(ctx context.Context, key types.NamespacedName) (coordinationv1.LeaseSpec, error) {
	resource := l.c.Dynamic.Resource(coordinationv1.SchemeGroupVersion.WithResource("leases"))
	object, err := resource.Namespace(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if err != nil {
		return coordinationv1.LeaseSpec{}, err
	}
	lease := &coordinationv1.Lease{}
	err = runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, lease)
	return lease.Spec, err
}

// lastSeen returns when a Lease was last renewed, and whether its holder is gone: it gave the Lease up, or has let it
// expire. Another duration is left for clocks that differ.
func lastSeen(lease coordinationv1.LeaseSpec, now time.Time) (seen time.Time, gone bool) {
	if lease.RenewTime == nil || lease.LeaseDurationSeconds == nil {
		return time.Time{}, false
	}
	seen = lease.RenewTime.Time
	if lease.HolderIdentity == nil || *lease.HolderIdentity == "" {
		return seen, true
	}
	return seen, now.Sub(seen) > 2*time.Duration(*lease.LeaseDurationSeconds)*time.Second
}

// leaseOf returns the Lease of the operator that manages a HelmRelease; false for one that none has claimed.
func leaseOf(hr *v1alpha1.HelmRelease) (types.NamespacedName, bool) {
	controller := hr.Annotations[v1alpha1.ManagedByAnnotation]
	name, err := operator.LeaseName(controller, hr.Status.Shard)
	return types.NamespacedName{Namespace: hr.Namespace, Name: name}, err == nil && controller != ""
}

// noteStopped says, once for each operator, that it does not run.
func (a *app) noteStopped(ctx context.Context, c *connection, found []*v1alpha1.HelmRelease) {
	l, asked := leases{c: c, now: a.now}, []types.NamespacedName{}
	for _, hr := range found {
		key, ok := leaseOf(hr)
		if !ok || slices.Contains(asked, key) {
			continue
		}
		asked = append(asked, key)
		if seen, stopped := l.stopped(ctx, hr); stopped {
			a.note("warning: %s; its releases are not protected now, and their statuses are from then", notRunning(hr, seen))
		}
	}
}

// notRunning says of the operator of a HelmRelease that it does not run.
func notRunning(hr *v1alpha1.HelmRelease, seen time.Time) string {
	return fmt.Sprintf("no operator %s is running in namespace %s (last seen %s)",
		hr.Annotations[v1alpha1.ManagedByAnnotation], hr.Namespace, seen.UTC().Format(time.RFC3339))
}
