package policies

import (
	"encoding/json"
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/policy"
)

// write executes a result. It does not touch an object that has changed since the plan was made.
func (w *worker) write(r policy.Result) error {
	var err error
	switch r.Outcome {
	case policy.Create:
		_, err = w.ownWrites.releases.write(r.Desired.Name, w.Clock, func() (*v1alpha1.HelmRelease, error) {
			return w.helmReleases.Create(r.Desired.DeepCopy())
		})
	case policy.Update:
		err = w.update(r)
	case policy.Delete:
		err = w.helmReleases.Delete(r.Existing.Namespace, r.Existing.Name, &metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &r.Existing.UID, ResourceVersion: &r.Existing.ResourceVersion}})
		if apierrors.IsNotFound(err) {
			return nil
		}
	}
	// A HelmRelease of that name not yet in the cache may be a user's: the next plan determines its owner.
	if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return errOvertaken
	}
	return err
}

// update writes the changed fields of a HelmRelease.
func (w *worker) update(r policy.Result) error {
	if w.ownWrites.refused(r.Existing, r.Desired) {
		return errUnchanged
	}
	patch, err := mergePatch(r.Existing, r.Desired)
	if err != nil {
		return fmt.Errorf("encode the changes of HelmRelease %s: %w", r.Existing.Name, err)
	}
	written, err := w.ownWrites.releases.write(r.Existing.Name, w.Clock, func() (*v1alpha1.HelmRelease, error) {
		return w.helmReleases.Patch(r.Existing.Namespace, r.Existing.Name, types.MergePatchType, patch)
	})
	if err != nil {
		return err
	}
	if !alike(written, r.Desired) {
		w.ownWrites.refuse(written, r.Desired)
		w.Log.WithField("helmrelease", written.Namespace+"/"+written.Name).Warn("the API server keeps the " +
			"HelmRelease in another form than its policy has it: is the CustomResourceDefinition an older one, or " +
			"does a webhook change it?")
	}
	return nil
}

// mergePatch returns the merge patch from an existing HelmRelease to the desired one, with the existing one's
// identity as a precondition.
func mergePatch(existing, desired *v1alpha1.HelmRelease) ([]byte, error) {
	before, err := json.Marshal(existing)
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(desired)
	if err != nil {
		return nil, err
	}
	diff, err := jsonpatch.CreateMergePatch(before, after)
	if err != nil {
		return nil, err
	}
	only, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": existing.UID, "resourceVersion": existing.ResourceVersion}})
	if err != nil {
		return nil, err
	}
	return jsonpatch.MergeMergePatches(diff, only)
}

// claimPolicy makes a policy this controller's, unless it is so already.
func (w *worker) claimPolicy(p *v1alpha1.HelmReleasePolicy) error {
	if p.Annotations[v1alpha1.ManagedByAnnotation] == w.ControllerName {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": p.UID, "resourceVersion": p.ResourceVersion,
		"annotations": map[string]string{v1alpha1.ManagedByAnnotation: w.ControllerName},
	}})
	if err != nil {
		return fmt.Errorf("encode the claim of HelmReleasePolicy %s: %w", p.Name, err)
	}
	_, err = w.ownWrites.policies.write(p.Name, w.Clock, func() (*v1alpha1.HelmReleasePolicy, error) {
		return w.policies.Patch(p.Namespace, p.Name, types.MergePatchType, patch)
	})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return errOvertaken
	}
	if err != nil {
		return fmt.Errorf("claim HelmReleasePolicy %s: %w", p.Name, err)
	}
	return nil
}
