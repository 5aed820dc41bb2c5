package enforce

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// emptied makes the patch that takes out every field.
type emptied struct{ Content }

func (emptied) Patch(map[string]any, map[string]any) Patch {
	return Patch{Merge: map[string]any{"spec": nil}}
}

// A merge patch to no target would be one that takes out every field.
func TestI2_ARevertWithoutATargetIsNoPatch(t *testing.T) {
	live := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"a": "b"}}}
	r := &Revert{Content: emptied{}, Live: live}
	_, body, err := r.patch()
	check.That(t, errors.Is(err, errNoTarget) && body == nil, "the patch is %s, error is %v", body, err)
}
