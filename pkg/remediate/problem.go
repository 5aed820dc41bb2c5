package remediate

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rancher/helm-locker/pkg/apierror"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
)

// problemOf describes an error about an object for the status.
func problemOf(id manifest.ID, err error, drifted bool) *lock.Problem {
	reason := v1alpha1.ReasonRevertFailed
	if apierrors.IsForbidden(err) {
		reason = v1alpha1.ReasonForbidden
	}
	return &lock.Problem{Reason: reason, Message: apierror.About(id.GroupKind(), err), Drifted: drifted}
}
