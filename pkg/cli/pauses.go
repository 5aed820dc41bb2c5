package cli

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	humanize "k8s.io/apimachinery/pkg/util/duration"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/command"
)

// user returns the name by which the API server knows the user of the command, to be stored with a pause. It is empty
// where the API server does not answer: a pause is possible without it.
func (h *helmReleases) user(ctx context.Context) string {
	user, err := h.cluster.User(ctx)
	if err != nil {
		return ""
	}
	return user
}

// mayPause returns an error if the policy of a HelmRelease allows no pause until a time, nil for one without an end.
// The API server checks the other rules for pauses, and has no clock for this one. A user who may not read policies
// pauses without this check: the process of policies shortens the pause.
func (h *helmReleases) mayPause(ctx context.Context, hr *v1alpha1.HelmRelease, until *time.Time, now time.Time) error {
	owner := v1alpha1.PolicyOf(hr)
	if owner == nil {
		return nil
	}
	object, err := h.cluster.Dynamic.Resource(v1alpha1.SchemeGroupVersion.WithResource(v1alpha1.PolicyResourceName)).
		Namespace(hr.Namespace).Get(ctx, owner.Name, metav1.GetOptions{})
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return h.apiError(fmt.Sprintf("get HelmReleasePolicy %s/%s", hr.Namespace, owner.Name), err)
	}
	policy, err := typed[v1alpha1.HelmReleasePolicy](object)
	if err != nil {
		return err
	}
	latest := policy.Spec.Pauses.Latest(now)
	if latest == nil || until != nil && !until.After(latest.Time) {
		return nil
	}
	most := humanize.HumanDuration(policy.Spec.Pauses.MaxDuration.Duration)
	return command.Hinted(fmt.Errorf("HelmReleasePolicy %s allows pauses of at most %s", owner.Name, most),
		"ask for a shorter one: --for "+most)
}

// change is a change of a HelmRelease.
type change struct {
	same              func(*v1alpha1.HelmRelease) bool   // reports whether there is nothing to change
	annotations, spec map[string]any                     // the patch
	text              func(*v1alpha1.HelmRelease) string // what the release is afterwards
	done              waitFor                            // what --wait waits for
	resumes           bool                               // whether it ends a suspension, so that drift is reverted
	pauses            bool                               // whether it begins one
	until             *time.Time                         // its end, nil for none
}
