package controller

import (
	"errors"
	"net/url"

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

// disconnected reports whether an error means a request without an answer: this is not a refusal.
func disconnected(err error) bool {
	var failed *url.Error // the type of all such errors of net/http
	return errors.As(err, &failed)
}

// transient reports whether an error means a missing answer, not a refusal.
func transient(err error) bool { return unanswered(err) || apierrors.IsTooManyRequests(err) }

// isNamespaceMissing reports whether an object was not created because its namespace does not exist.
func isNamespaceMissing(err error) bool {
	var status apierrors.APIStatus
	return apierrors.IsNotFound(err) && errors.As(err, &status) && status.Status().Details != nil &&
		status.Status().Details.Kind == "namespaces"
}
