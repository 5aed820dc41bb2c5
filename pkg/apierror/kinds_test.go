package apierror

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/tests/lib/check"
)

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
		check.Equal(t, Transient(fmt.Errorf("wrapped: %w", tc.err)), tc.want, "%s: transient", name)
	}
}
