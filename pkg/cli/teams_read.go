package cli

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	teams "github.com/rancher/helm-locker/pkg/apis/teams.helm.cattle.io/v1alpha1"
)

// listOrLocks returns the HelmReleases for which keep returns true. For a user who may not list HelmReleases, it
// returns those shown by the ReleaseLocks of a namespace, and reports that; where these cannot be read either, the
// error is that of the list of HelmReleases.
func (h *helmReleases) listOrLocks(
	ctx context.Context, namespace string, keep func(*v1alpha1.HelmRelease) bool,
) (found []*v1alpha1.HelmRelease, fromLocks bool, err error) {
	found, err = h.list(ctx, keep)
	if !apierrors.IsForbidden(err) || namespace == "" {
		return found, false, err
	}
	list, lockErr := h.cluster.Dynamic.Resource(teams.SchemeGroupVersion.WithResource(teams.ResourceName)).
		Namespace(namespace).List(ctx, metav1.ListOptions{})
	if lockErr != nil {
		return nil, false, err
	}
	for i := range list.Items {
		rl, lockErr := typed[teams.ReleaseLock](&list.Items[i])
		if lockErr != nil {
			return nil, false, lockErr
		}
		if hr := shownBy(rl); hr != nil && keep(hr) {
			found = append(found, hr)
		}
	}
	return found, true, nil
}

// shownBy returns the part of a HelmRelease that a ReleaseLock shows; nil before its first status.
func shownBy(rl *teams.ReleaseLock) *v1alpha1.HelmRelease {
	s := rl.Status
	if s.HelmRelease == nil {
		return nil
	}
	hr := &v1alpha1.HelmRelease{}
	hr.Namespace, hr.Name, hr.CreationTimestamp = s.HelmRelease.Namespace, s.HelmRelease.Name, rl.CreationTimestamp
	hr.Spec.Release = v1alpha1.ReleaseKey{Namespace: rl.Namespace, Name: rl.Name}
	hr.Spec.Mode, hr.Spec.Guard = s.Mode, s.Guard
	if s.Pause != nil {
		hr.Spec.SuspendUntil = s.Pause.Until
	}
	hr.Status.State, hr.Status.Version, hr.Status.Objects = s.State, s.Revision, s.Objects
	hr.Status.Conditions, hr.Status.RecentDrift = s.Conditions, s.RecentDrift
	return hr
}

// lockNamed returns the name of the ReleaseLock by which a release's HelmRelease was read.
func lockNamed(hr *v1alpha1.HelmRelease) string {
	return fmt.Sprintf("ReleaseLock %s/%s", hr.Spec.Release.Namespace, hr.Spec.Release.Name)
}
