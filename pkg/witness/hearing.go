package witness

import (
	"context"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/pkg/accounts"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/reading"
)

// hearing is the judgement of one request.
type hearing struct {
	*Witness
	reading *reading.Reading
}

// writerOf returns the user of a request, in a printable form.
func writerOf(r *admissionv1.AdmissionRequest) string {
	return plain.Cut(plain.Line(r.UserInfo.Username), v1alpha1.MaxUserBytes)
}

// may asks the API server's authorizer about one right of the writer.
func (h *hearing) may(
	ctx context.Context, user authenticationv1.UserInfo, verb string, o accounts.Object,
) (bool, error) {
	resource, subresource, _ := strings.Cut(o.GVR.Resource, "/")
	review := accounts.Review(user)
	review.Spec.ResourceAttributes = &authorizationv1.ResourceAttributes{Verb: verb, Group: o.GVR.Group, Version: "*",
		Resource: resource, Subresource: subresource, Namespace: o.Namespace, Name: o.Name}
	review, err := h.Kubernetes.AuthorizationV1().SubjectAccessReviews().Create(ctx, review,
		metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask for the rights of the writer: %w", err)
	}
	return review.Status.Allowed, nil
}
