package controller

import (
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/release"
)

// inShard reports whether the labels of a HelmRelease make it this controller's to look after. Another operator of
// the same name looks after the others.
func (c *Controller) inShard(hr *v1alpha1.HelmRelease) bool {
	return c.Shard == nil || c.Shard.Matches(labels.Set(hr.Labels))
}

// rememberElsewhere keeps in mind which release a HelmRelease in another shard names: when it goes, a HelmRelease
// of this shard may be the next to keep the release.
func (c *Controller) rememberElsewhere(key string, hr *v1alpha1.HelmRelease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inShard(hr) {
		delete(c.elsewhere, key)
		return
	}
	c.elsewhere[key] = releaseKey(hr)
}

func (c *Controller) forgetElsewhere(key string) (release.Key, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rel, ok := c.elsewhere[key]
	delete(c.elsewhere, key)
	return rel, ok
}

// ofShard names the shard for a log line; empty when this controller looks after all HelmReleases.
func (c *Controller) ofShard() string {
	if c.Shard == nil {
		return ""
	}
	return ", of shard " + c.Shard.String()
}

// claimable reports whether operators of this controller's name look after the HelmRelease or may claim it, in
// whichever shard.
func (c *Controller) claimable(hr *v1alpha1.HelmRelease) bool {
	by, claimed := hr.Annotations[v1alpha1.ManagedByAnnotation]
	return !claimed || by == "" || by == c.Name
}

// claim makes the HelmRelease this controller's, and rids it of the finalizer that older operators set. It returns
// false for a HelmRelease that another controller has claimed, that is in another shard, or that a standby has to
// leave unclaimed for now.
func (c *Controller) claim(hr *v1alpha1.HelmRelease) (bool, error) {
	if !c.claimable(hr) || !c.inShard(hr) {
		return false, nil
	}
	meta := map[string]any{"resourceVersion": hr.ResourceVersion, "uid": hr.UID}
	changed := false
	if hr.Annotations[v1alpha1.ManagedByAnnotation] != c.Name && hr.DeletionTimestamp == nil {
		meta["annotations"] = map[string]string{v1alpha1.ManagedByAnnotation: c.Name}
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
	if !c.leading.Load() {
		return hr.Annotations[v1alpha1.ManagedByAnnotation] == c.Name, nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": meta})
	if err != nil {
		return false, fmt.Errorf("encode the claim of HelmRelease %s/%s: %w", hr.Namespace, hr.Name, err)
	}
	_, err = c.clients.HelmReleases.Patch(hr.Namespace, hr.Name, types.MergePatchType, patch)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("claim HelmRelease %s/%s: %w", hr.Namespace, hr.Name, err)
	}
	return true, nil
}

// objectReference is what events about a HelmRelease refer to.
func objectReference(hr *v1alpha1.HelmRelease) *v1alpha1.HelmRelease {
	ref := &v1alpha1.HelmRelease{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "HelmRelease"},
	}
	ref.Namespace, ref.Name, ref.UID, ref.ResourceVersion = hr.Namespace, hr.Name, hr.UID, hr.ResourceVersion
	return ref
}
