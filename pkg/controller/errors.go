package controller

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
)

// problemOf describes an error about an object for the status. The text of an error may quote field values, and those
// of a Secret must not get out, so the description has only parts known to be free of them.
func problemOf(id manifest.ID, err error, drifted bool) *lock.Problem {
	reason := v1alpha1.ReasonRevertFailed
	if apierrors.IsForbidden(err) {
		reason = v1alpha1.ReasonForbidden
	}
	return &lock.Problem{Reason: reason, Message: errorAbout(id, err), Drifted: drifted}
}

// errorAbout is safeError for an error about one object. The message of a webhook or a policy about a Secret may quote
// the Secret, so errorAbout keeps only the API server's introduction of it.
func errorAbout(id manifest.ID, err error) string {
	var status apierrors.APIStatus
	if id.Group != "" || id.Kind != "Secret" || !errors.As(err, &status) {
		return safeError(err)
	}
	return refusal(status.Status())
}

// safeError describes an error without the values quoted by the API server: by its reason and the fields at fault.
func safeError(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return err.Error()
	}
	s := status.Status()
	if faultyFields(s) != "" || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		return refusal(s)
	}
	return strings.ReplaceAll(s.Message, "\n", " ")
}

// introductions are the API server's wordings for the origin of a refusal. They carry no content of an object.
var introductions = regexp.MustCompile(
	`User "[^"]*" cannot [a-z:-]+ resource "[^"]*" in API group "[^"]*"( in the namespace "[^"]*")?|` +
		`admission webhook "[^"]*" denied the request|failed calling webhook "[^"]*"|` +
		`ValidatingAdmissionPolicy '[^']*' with binding '[^']*' denied request|exceeded quota: [-a-z0-9.]+`,
)

// refusal describes a refused request only by its reason, the origin of the refusal, and the fields at fault.
func refusal(s metav1.Status) string {
	text := fmt.Sprintf("the API server refused it: %s", s.Reason)
	if fields := faultyFields(s); fields != "" {
		return text + ": " + fields
	}
	if who := introductions.FindString(s.Message); who != "" {
		return text + ": " + who
	}
	return text
}

func faultyFields(s metav1.Status) string {
	if s.Details == nil {
		return ""
	}
	var fields []string
	for _, cause := range s.Details.Causes {
		if cause.Field != "" {
			fields = append(fields, fmt.Sprintf("%s (%s)", cause.Field, cause.Type))
		}
	}
	return strings.Join(fields, ", ")
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
