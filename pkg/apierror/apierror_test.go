package apierror

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestAnErrorIsDescribedWithoutTheValuesInIt(t *testing.T) {
	const planted = "hunter2"
	secrets := schema.GroupKind{Kind: "Secret"}
	invalid := apierrors.NewInvalid(secrets, "creds",
		field.ErrorList{field.Invalid(field.NewPath("data", "password"), planted, "bad "+planted)})
	text := Safe(fmt.Errorf("apply: %w", invalid))
	check.That(t,
		!strings.Contains(text, planted) && strings.Contains(text, "data.password") &&
			strings.Contains(text, "FieldValueInvalid"), "described as %q", text)
	bad := apierrors.NewBadRequest("cannot decode " + planted)
	text = Safe(bad)
	check.That(t, !strings.Contains(text, planted), "described as %q", text)
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "creds", errors.New("no access"))
	text = Safe(forbidden)
	check.That(t, strings.Contains(text, "no access"), "described as %q", text)
}
