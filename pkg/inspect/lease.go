package inspect

import (
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/labels"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/lease"
)

// LeaseOf returns the name of the Lease of a HelmRelease's operator, in the same namespace; false for an unclaimed
// HelmRelease.
func LeaseOf(hr *v1alpha1.HelmRelease) (string, bool) {
	controller := hr.Annotations[v1alpha1.ManagedByAnnotation]
	shard, err := labels.Parse(hr.Status.Shard)
	if controller == "" || err != nil {
		return "", false
	}
	return lease.Name(controller, shard), true
}

// LastSeen returns the last renewal of a Lease, and whether its holder is gone: it released the Lease, or let it
// expire, see GoneAfter.
func LastSeen(spec coordinationv1.LeaseSpec, now time.Time) (seen time.Time, gone bool) {
	if spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
		return time.Time{}, false
	}
	seen = spec.RenewTime.Time
	if spec.HolderIdentity == nil || *spec.HolderIdentity == "" {
		return seen, true
	}
	return seen, now.Sub(seen) > GoneAfter(spec)
}

// GoneAfter returns how long after its last renewal the holder of a Lease with a duration counts as gone: twice the
// duration, because clocks differ.
func GoneAfter(spec coordinationv1.LeaseSpec) time.Duration {
	return 2 * time.Duration(*spec.LeaseDurationSeconds) * time.Second
}

// NotRunning returns the message for a HelmRelease whose operator was last seen at a time and does not run.
func NotRunning(hr *v1alpha1.HelmRelease, seen time.Time) string {
	return fmt.Sprintf("no operator %s is running in namespace %s (last seen %s)",
		hr.Annotations[v1alpha1.ManagedByAnnotation], hr.Namespace, seen.UTC().Format(time.RFC3339))
}
