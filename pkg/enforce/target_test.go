package enforce

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A merge patch to no target would be one that takes out every field.
func TestI2_ARevertWithoutATargetIsNoPatch(t *testing.T) {
	r := &Revert{Live: &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"a": "b"}}}}
	if _, body, err := r.patch(); !errors.Is(err, errNoTarget) || body != nil {
		t.Errorf("the patch is %s, error is %v", body, err)
	}
}
