// Package lease says what a Lease tells of an operator: the replicas of one compete for a Lease, and the leader
// renews it. It is pure.
package lease

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/labels"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
)

// Name returns the name of the Lease of an operator: of a controller name, and of a shard, which is empty where one
// operator manages everything. Shards do not exclude each other. However a selector is written, the same one gives
// the same Lease.
func Name(controller string, shard labels.Selector) string {
	if shard == nil || shard.Empty() {
		return controller
	}
	// The selector itself has characters that no name may have.
	sum := sha256.Sum256([]byte(shard.String()))
	return controller + "-" + hex.EncodeToString(sum[:4])
}

// Policies returns the name of the Lease of the process that follows policies beside the operator of a Lease.
func Policies(operator string) string { return operator + "-policies" }

// Of returns the name of the Lease of the operator that manages a HelmRelease, which is in the same namespace; false
// for a HelmRelease that no operator has claimed.
func Of(hr *v1alpha1.HelmRelease) (string, bool) {
	controller := hr.Annotations[v1alpha1.ManagedByAnnotation]
	shard, err := labels.Parse(hr.Status.Shard)
	if controller == "" || err != nil {
		return "", false
	}
	return Name(controller, shard), true
}

// LastSeen returns when a Lease was last renewed, and whether its holder is gone: it gave the Lease up, or has let it
// expire. Another duration is left for clocks that differ.
func LastSeen(lease coordinationv1.LeaseSpec, now time.Time) (seen time.Time, gone bool) {
	if lease.RenewTime == nil || lease.LeaseDurationSeconds == nil {
		return time.Time{}, false
	}
	seen = lease.RenewTime.Time
	if lease.HolderIdentity == nil || *lease.HolderIdentity == "" {
		return seen, true
	}
	return seen, now.Sub(seen) > 2*time.Duration(*lease.LeaseDurationSeconds)*time.Second
}

// NotRunning says of the operator of a HelmRelease, which was last seen at a time, that it does not run.
func NotRunning(hr *v1alpha1.HelmRelease, seen time.Time) string {
	return fmt.Sprintf("no operator %s is running in namespace %s (last seen %s)",
		hr.Annotations[v1alpha1.ManagedByAnnotation], hr.Namespace, seen.UTC().Format(time.RFC3339))
}
