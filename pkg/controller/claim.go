package controller

import (
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
)

// giveWay records that a HelmRelease waits for its release, because another HelmRelease has it. The next event of the
// other one enqueues the first.
func (rs *releases) giveWay(key, first string) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if !slices.Contains(rs.behind[first], key) {
		rs.behind[first] = append(rs.behind[first], key)
	}
}

// takeBehind returns, and forgets, the HelmReleases that wait for the release of this one.
func (rs *releases) takeBehind(first string) []string {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	behind := rs.behind[first]
	delete(rs.behind, first)
	return behind
}

// claimable reports whether operators of this controller's name manage the HelmRelease or may claim it, in any shard.
func (c *common) claimable(hr *v1alpha1.HelmRelease) bool {
	by, claimed := hr.Annotations[v1alpha1.ManagedByAnnotation]
	return !claimed || by == "" || by == c.Name
}

// claim claims the HelmRelease for this controller, and removes the finalizer of older operators. It returns false for
// a HelmRelease of another controller or shard, and for one to be left unclaimed by a standby for now.
func (rs *releases) claim(hr *v1alpha1.HelmRelease) (bool, error) {
	if !rs.claimable(hr) || !rs.inShard(hr) {
		return false, nil
	}
	meta := map[string]any{"resourceVersion": hr.ResourceVersion, "uid": hr.UID}
	changed := false
	if hr.Annotations[v1alpha1.ManagedByAnnotation] != rs.Name && hr.DeletionTimestamp == nil {
		meta["annotations"] = map[string]string{v1alpha1.ManagedByAnnotation: rs.Name}
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
	if !rs.leading.Load() {
		return hr.Annotations[v1alpha1.ManagedByAnnotation] == rs.Name, nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": meta})
	if err != nil {
		return false, fmt.Errorf("encode the claim of HelmRelease %s/%s: %w", hr.Namespace, hr.Name, err)
	}
	_, err = rs.clients.HelmReleases.Patch(hr.Namespace, hr.Name, types.MergePatchType, patch)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("claim HelmRelease %s/%s: %w", hr.Namespace, hr.Name, err)
	}
	return true, nil
}

// objectReference returns the reference to a HelmRelease for its events.
func objectReference(hr *v1alpha1.HelmRelease) *v1alpha1.HelmRelease {
	ref := &v1alpha1.HelmRelease{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "HelmRelease"},
	}
	ref.Namespace, ref.Name, ref.UID, ref.ResourceVersion = hr.Namespace, hr.Name, hr.UID, hr.ResourceVersion
	return ref
}
