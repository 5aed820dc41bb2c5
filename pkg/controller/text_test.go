package controller

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestAnErrorIsDescribedWithoutTheValuesInIt(t *testing.T) {
	const planted = "hunter2"
	secrets := schema.GroupKind{Kind: "Secret"}
	invalid := apierrors.NewInvalid(secrets, "creds",
		field.ErrorList{field.Invalid(field.NewPath("data", "password"), planted, "bad "+planted)})
	text := safeError(fmt.Errorf("apply: %w", invalid))
	if strings.Contains(text, planted) || !strings.Contains(text, "data.password") ||
		!strings.Contains(text, "FieldValueInvalid") {
		t.Errorf("described as %q", text)
	}
	bad := apierrors.NewBadRequest("cannot decode " + planted)
	if text := safeError(bad); strings.Contains(text, planted) {
		t.Errorf("described as %q", text)
	}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "creds", errors.New("no access"))
	if text := safeError(forbidden); !strings.Contains(text, "no access") {
		t.Errorf("described as %q", text)
	}
}

func TestTransientErrorsAreThoseWithoutARefusal(t *testing.T) {
	gr := schema.GroupResource{Resource: "configmaps"}
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"connection refused": {errors.New("connect: connection refused"), true},
		"server error":       {apierrors.NewInternalError(errors.New("etcd")), true},
		"too many requests":  {apierrors.NewTooManyRequests("later", 1), true},
		"time-out":           {apierrors.NewTimeoutError("slow", 1), true},
		"invalid":            {apierrors.NewInvalid(schema.GroupKind{}, "x", nil), false},
		"forbidden":          {apierrors.NewForbidden(gr, "x", errors.New("rbac")), false},
	} {
		if got := transient(fmt.Errorf("wrapped: %w", tc.err)); got != tc.want {
			t.Errorf("%s: transient is %v", name, got)
		}
	}
}
