package apierror

import (
	"errors"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Disconnected reports whether an error means a request without an answer: this is not a refusal.
func Disconnected(err error) bool {
	var failed *url.Error // the type of all such errors of net/http
	return errors.As(err, &failed)
}

// Unanswered reports whether an error leaves open if the API server has carried out the request.
func Unanswered(err error) bool {
	status := apierrors.APIStatus(nil)
	return err != nil && (!errors.As(err, &status) || status.Status().Code >= 500)
}

// Transient reports whether an error means a missing answer, not a refusal.
func Transient(err error) bool { return Unanswered(err) || apierrors.IsTooManyRequests(err) }

// NamespaceMissing reports whether an object was not created because its namespace does not exist.
func NamespaceMissing(err error) bool {
	var status apierrors.APIStatus
	return apierrors.IsNotFound(err) && errors.As(err, &status) && status.Status().Details != nil &&
		status.Status().Details.Kind == "namespaces"
}
