package controller

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/release"
)

// claimer claims HelmReleases for this controller, and decides which of several HelmReleases keeps a release.
type claimer struct {
	*common
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

// claimable reports whether operators of this controller's name manage the HelmRelease or may claim it, in any shard.
func (c *common) claimable(hr *v1alpha1.HelmRelease) bool {
	by, claimed := hr.Annotations[v1alpha1.ManagedByAnnotation]
	return !claimed || by == "" || by == c.Name
}

// claim claims the HelmRelease for this controller, and removes the finalizer of older operators. It returns false for
// a HelmRelease of another controller or shard, and for one to be left unclaimed by a standby for now.
func (ca *claimer) claim(hr *v1alpha1.HelmRelease) (bool, error) {
	if !ca.claimable(hr) || !ca.inShard(hr) {
		return false, nil
	}
	meta := map[string]any{"resourceVersion": hr.ResourceVersion, "uid": hr.UID}
	changed := false
	if hr.Annotations[v1alpha1.ManagedByAnnotation] != ca.Name && hr.DeletionTimestamp == nil {
		meta["annotations"] = map[string]string{v1alpha1.ManagedByAnnotation: ca.Name}
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
	if !ca.leading.Load() {
		return hr.Annotations[v1alpha1.ManagedByAnnotation] == ca.Name, nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": meta})
	if err != nil {
		return false, fmt.Errorf("encode the claim of HelmRelease %s/%s: %w", hr.Namespace, hr.Name, err)
	}
	_, err = ca.clients.HelmReleases.Patch(hr.Namespace, hr.Name, types.MergePatchType, patch)
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
	for _, other := range ca.named(releaseKey(hr)) {
		if other.Namespace != ca.Namespace || other.DeletionTimestamp != nil || !ca.claimable(other) {
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
	for _, hr := range ca.named(key) {
		if hr.Namespace == ca.Namespace && ca.claimable(hr) && ca.owner(hr) == nil {
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

// objectReference returns the reference to a HelmRelease for its events.
func objectReference(hr *v1alpha1.HelmRelease) *v1alpha1.HelmRelease {
	ref := &v1alpha1.HelmRelease{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "HelmRelease"},
	}
	ref.Namespace, ref.Name, ref.UID, ref.ResourceVersion = hr.Namespace, hr.Name, hr.UID, hr.ResourceVersion
	return ref
}
