package locking

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/roster"
)

// claimer claims HelmReleases for this controller, and decides which of several HelmReleases keeps a release.
type claimer struct {
	*Options
	mu sync.Mutex
	// behind are the HelmReleases that leave their release to another one, by the key of the other one. mu guards it.
	behind map[string][]string
}

// giveWay records that a HelmRelease waits for its release, because another HelmRelease has it. The next event of the
// other one enqueues the first.
func (ca *claimer) giveWay(key, first string) {
	ca.mu.Lock()
	defer ca.mu.Unlock()
	if !slices.Contains(ca.behind[first], key) {
		ca.behind[first] = append(ca.behind[first], key)
	}
}

// takeBehind returns, and forgets, the HelmReleases that wait for the release of this one.
func (ca *claimer) takeBehind(first string) []string {
	ca.mu.Lock()
	defer ca.mu.Unlock()
	behind := ca.behind[first]
	delete(ca.behind, first)
	return behind
}

// claim claims the HelmRelease for this controller, and removes the finalizer of older operators. It returns false for
// a HelmRelease of another controller or shard, and for one to be left unclaimed by a standby for now.
func (ca *claimer) claim(hr *v1alpha1.HelmRelease) (bool, error) {
	if !ca.Roster.Claimable(hr) || !ca.Roster.InShard(hr) {
		return false, nil
	}
	meta := map[string]any{"resourceVersion": hr.ResourceVersion, "uid": hr.UID}
	changed := false
	if hr.Annotations[v1alpha1.ManagedByAnnotation] != ca.Roster.Name && hr.DeletionTimestamp == nil {
		meta["annotations"] = map[string]string{v1alpha1.ManagedByAnnotation: ca.Roster.Name}
		changed = true
	}
	if slices.Contains(hr.Finalizers, v1alpha1.LegacyFinalizer) {
		meta["finalizers"] = slices.DeleteFunc(slices.Clone(hr.Finalizers),
			func(f string) bool { return f == v1alpha1.LegacyFinalizer })
		changed = true
	}
	if !changed {
		return true, nil
	}
	if !ca.Leading.Load() {
		return hr.Annotations[v1alpha1.ManagedByAnnotation] == ca.Roster.Name, nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": meta})
	if err != nil {
		return false, fmt.Errorf("encode the claim of HelmRelease %s/%s: %w", hr.Namespace, hr.Name, err)
	}
	_, err = ca.HelmReleases.Patch(hr.Namespace, hr.Name, types.MergePatchType, patch)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("claim HelmRelease %s/%s: %w", hr.Namespace, hr.Name, err)
	}
	return true, nil
}

// owner returns the HelmRelease that keeps the release instead of hr. One written by hand precedes one of a policy,
// then the oldest precedes, and then the first by name.
func (ca *claimer) owner(hr *v1alpha1.HelmRelease) *v1alpha1.HelmRelease {
	first := hr
	for _, other := range ca.Roster.For(roster.ReleaseOf(hr)) {
		if other.Namespace != ca.Roster.Namespace || other.DeletionTimestamp != nil || !ca.Roster.Claimable(other) {
			continue
		}
		if createdBefore(other, first) {
			first = other
		}
	}
	if first == hr || first.UID == hr.UID {
		return nil
	}
	return first
}

// holder returns the HelmRelease that locks a release; nil for none.
func (ca *claimer) holder(key release.Key) *v1alpha1.HelmRelease {
	for _, hr := range ca.Roster.For(key) {
		if hr.Namespace == ca.Roster.Namespace && ca.Roster.Claimable(hr) && ca.owner(hr) == nil {
			return hr
		}
	}
	return nil
}

func createdBefore(a, b *v1alpha1.HelmRelease) bool {
	if made := v1alpha1.PolicyOf(a) != nil; made != (v1alpha1.PolicyOf(b) != nil) {
		return !made // what was written by hand keeps the release: the policy is about to delete its own
	}
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Name < b.Name
}
