// Package apierror describes errors of the API server for a status or a log. The text of such an error may quote field
// values, and those of a Secret must not get out, so a description has only parts known to be free of them. It is pure.
package apierror

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// About is Safe for an error about an object of a kind. The message of a webhook or a policy about a Secret may quote
// the Secret, so About keeps only the API server's introduction of it.
func About(kind schema.GroupKind, err error) string {
	var status apierrors.APIStatus
	if kind != (schema.GroupKind{Kind: "Secret"}) || !errors.As(err, &status) {
		return Safe(err)
	}
	return refusal(status.Status())
}

// Safe describes an error without the values quoted by the API server: by its reason and the fields at fault.
func Safe(err error) string {
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
