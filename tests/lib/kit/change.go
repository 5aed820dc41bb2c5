package kit

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// Tamperer is the field manager of the tests' changes.
const Tamperer = "tamperer"

// In returns the client for a resource in a namespace, cluster-scoped when the namespace is empty.
func (e *Env) In(gvr schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return e.Dynamic.Resource(gvr)
	}
	return e.Dynamic.Resource(gvr).Namespace(namespace)
}

// Patch changes an object in Apps as Tamperer, and returns the object after it: by a JSON patch if it is a list, and by
// a JSON merge patch otherwise.
func (e *Env) Patch(gvr schema.GroupVersionResource, name, patch string) *unstructured.Unstructured {
	e.Helper()
	return e.PatchIn(gvr, e.Apps, name, patch)
}

// PatchIn is Patch for an object anywhere.
func (e *Env) PatchIn(gvr schema.GroupVersionResource, namespace, name, patch string) *unstructured.Unstructured {
	e.Helper()
	u, err := e.In(gvr, namespace).Patch(e.Ctx, name, patchType(patch), []byte(patch),
		metav1.PatchOptions{FieldManager: Tamperer})
	check.NoError(e, err)
	return u
}

// PatchAs is Patch as another field manager, or of a subresource.
func (e *Env) PatchAs(
	manager string, gvr schema.GroupVersionResource, name, patch string, subresources ...string,
) *unstructured.Unstructured {
	e.Helper()
	u, err := e.In(gvr, e.Apps).Patch(e.Ctx, name, patchType(patch), []byte(patch),
		metav1.PatchOptions{FieldManager: manager}, subresources...)
	check.NoError(e, err)
	return u
}

// Strategic is Patch by a strategic merge patch.
func (e *Env) Strategic(gvr schema.GroupVersionResource, name, patch string) {
	e.Helper()
	_, err := e.In(gvr, e.Apps).Patch(e.Ctx, name, types.StrategicMergePatchType, []byte(patch),
		metav1.PatchOptions{FieldManager: Tamperer})
	check.NoError(e, err)
}

// TryPatch is Patch for a change that may be refused, in the name of no manager. With dry runs nothing is stored.
func (e *Env) TryPatch(gvr schema.GroupVersionResource, name, patch string, dryRun ...string) error {
	_, err := e.In(gvr, e.Apps).Patch(e.Ctx, name, patchType(patch), []byte(patch), metav1.PatchOptions{DryRun: dryRun})
	return err
}

func patchType(patch string) types.PatchType {
	if strings.HasPrefix(patch, "[") {
		return types.JSONPatchType
	}
	return types.MergePatchType
}

// WaitGone waits until an object does not exist, in a namespace or in the cluster.
func (e *Env) WaitGone(gvr schema.GroupVersionResource, namespace, name string) {
	e.Helper()
	e.Eventually(gvr.Resource+" "+name+" is gone", func() error {
		_, err := e.In(gvr, namespace).Get(e.Ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it exists: %w", err)
	})
}

// Delete deletes an object in Apps.
func (e *Env) Delete(gvr schema.GroupVersionResource, name string) {
	e.Helper()
	e.DeleteIn(gvr, e.Apps, name)
}

// DeleteIn is Delete for an object anywhere.
func (e *Env) DeleteIn(gvr schema.GroupVersionResource, namespace, name string) {
	e.Helper()
	check.NoError(e, e.In(gvr, namespace).Delete(e.Ctx, name, metav1.DeleteOptions{}))
}

// Field returns the value at a dot-separated path of an object, nil when there is none. An element of a list has its
// index in the path.
func Field(u *unstructured.Unstructured, path string) any {
	if u == nil {
		return nil
	}
	var value any = u.Object
	for _, segment := range strings.Split(path, ".") {
		switch at := value.(type) {
		case map[string]any:
			value = at[segment]
		case []any:
			i, err := strconv.Atoi(segment)
			if err != nil || i >= len(at) {
				return nil
			}
			value = at[i]
		default:
			return nil
		}
	}
	return value
}

// WaitField waits until the value at a dot-separated path of an object in Apps is the wanted one.
func (e *Env) WaitField(gvr schema.GroupVersionResource, name, path string, want any) {
	e.Helper()
	e.WaitFieldIn(gvr, e.Apps, name, path, want)
}

// WaitFieldIn is WaitField for an object anywhere.
func (e *Env) WaitFieldIn(gvr schema.GroupVersionResource, namespace, name, path string, want any) {
	e.Helper()
	e.Eventually(fmt.Sprintf("%s of %s %s is %v", path, gvr.Resource, name, want), func() error {
		u, err := e.In(gvr, namespace).Get(e.Ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if got := Field(u, path); !reflect.DeepEqual(got, want) {
			return fmt.Errorf("it is %v", got)
		}
		return nil
	})
}

// WaitNewObject waits for an object in Apps with another uid that is not being deleted.
func (e *Env) WaitNewObject(gvr schema.GroupVersionResource, name string, old types.UID) *unstructured.Unstructured {
	e.Helper()
	var u *unstructured.Unstructured
	e.Eventually(gvr.Resource+" "+name+" is created again", func() error {
		u = e.Get(gvr, name)
		switch {
		case u == nil:
			return fmt.Errorf("it does not exist")
		case u.GetUID() == old:
			return fmt.Errorf("it is still the old one")
		case u.GetDeletionTimestamp() != nil:
			return fmt.Errorf("it is being deleted")
		}
		return nil
	})
	return u
}

// PatchHelmRelease changes a HelmRelease by a JSON merge patch.
func (e *Env) PatchHelmRelease(name, patch string) {
	e.Helper()
	e.PatchIn(HelmReleases, e.Operator, name, patch)
}

// DeleteHelmRelease deletes a HelmRelease and waits until it no longer exists.
func (e *Env) DeleteHelmRelease(name string) {
	e.Helper()
	e.DeleteIn(HelmReleases, e.Operator, name)
	e.WaitGone(HelmReleases, e.Operator, name)
}

// Condition returns a condition of a HelmRelease as it is now; the zero condition when there is none.
func (e *Env) Condition(name, condition string) metav1.Condition {
	e.Helper()
	if c := meta.FindStatusCondition(e.HelmRelease(name).Status.Conditions, condition); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// For returns the environment for a subtest and reports failures there.
func (e *Env) For(t testing.TB) *Env {
	sub := *e
	sub.TB, sub.Ctx = t, t.Context()
	return &sub
}

// Difference describes the first difference between two JSON values. allowed excuses a surplus key, by the path of
// its map and the key.
func Difference(want, got any, path string, allowed func(path, key string) bool) error {
	wantMap, ok := want.(map[string]any)
	gotMap, too := got.(map[string]any)
	if !ok || !too {
		if reflect.DeepEqual(want, got) {
			return nil
		}
		return fmt.Errorf("%s is %v, want %v", path, got, want)
	}
	for _, key := range slices.Sorted(maps.Keys(wantMap)) {
		g, there := gotMap[key]
		if !there {
			return fmt.Errorf("%s/%s is missing, want %v", path, key, wantMap[key])
		}
		if err := Difference(wantMap[key], g, path+"/"+key, allowed); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(gotMap)) {
		if _, wanted := wantMap[key]; !wanted && (allowed == nil || !allowed(path, key)) {
			return fmt.Errorf("%s/%s is too much: %v", path, key, gotMap[key])
		}
	}
	return nil
}
