// Package lease derives the state of an operator from its Lease: the replicas of one compete for a Lease, and the
// leader renews it. It is pure.
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

// Name returns the name of an operator's Lease from its controller name and its shard. The shard is empty for an
// operator without shards. Shards do not exclude each other. Equal selectors in different notations have the same
// Lease.
func Name(controller string, shard labels.Selector) string {
	if shard == nil || shard.Empty() {
		return controller
	}
	// The selector itself has characters that are invalid in a name.
	sum := sha256.Sum256([]byte(shard.String()))
	return controller + "-" + hex.EncodeToString(sum[:4])
}

// Policies returns the name of the Lease of the policies process beside the operator of a Lease.
func Policies(operator string) string { return operator + "-policies" }

// Of returns the name of the Lease of a HelmRelease's operator, in the same namespace; false for an unclaimed
// HelmRelease.
func Of(hr *v1alpha1.HelmRelease) (string, bool) {
	controller := hr.Annotations[v1alpha1.ManagedByAnnotation]
	shard, err := labels.Parse(hr.Status.Shard)
	if controller == "" || err != nil {
		return "", false
	}
	return Name(controller, shard), true
}

// LastSeen returns the last renewal of a Lease, and whether its holder is gone: it released the Lease, or let it
// expire. Expiry counts twice the lease duration, because clocks differ.
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

// NotRunning returns the message for a HelmRelease whose operator was last seen at a time and does not run.
func NotRunning(hr *v1alpha1.HelmRelease, seen time.Time) string {
	return fmt.Sprintf("no operator %s is running in namespace %s (last seen %s)",
		hr.Annotations[v1alpha1.ManagedByAnnotation], hr.Namespace, seen.UTC().Format(time.RFC3339))
}
