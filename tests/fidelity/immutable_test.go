package fidelity

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// Objects are replaced by others with an irreversible difference. The condition names the field, the rest of the
// release stays protected, and the object is restored once that is possible.
func TestMoments_ImmutableDifference(t *testing.T) {
	deployment := func() *unstructured.Unstructured {
		labels := map[string]any{"app": "evil"}
		return asObject(map[string]any{"apiVersion": "apps/v1", "kind": "Deployment",
			"metadata": map[string]any{"name": "web"}, "spec": map[string]any{
				"replicas": int64(0), "selector": map[string]any{"matchLabels": labels},
				"template": map[string]any{"metadata": map[string]any{"labels": labels},
					"spec": map[string]any{"containers": []any{map[string]any{"name": "main", "image": "evil:1"}}}}}})
	}
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		w.locked(helm)
		sealed := configMapObject("sealed", map[string]any{"key": "evil"})
		sealed.Object["immutable"] = true
		typed := asObject(map[string]any{"apiVersion": "v1", "kind": "Secret",
			"metadata": map[string]any{"name": "typed"}, "type": "example.com/evil",
			"data": map[string]any{"password": "ZXZpbA=="}})
		for _, in := range []struct {
			plural string
			object *unstructured.Unstructured
			says   []string
		}{
			{"configmaps", sealed, []string{"ConfigMap " + w.Apps + "/sealed", "data"}},
			{"secrets", typed, []string{"Secret " + w.Apps + "/typed", "type"}},
			{"deployments", deployment(), []string{"Deployment " + w.Apps + "/web", "spec.selector"}},
		} {
			t.Run(in.plural, func(t *testing.T) {
				w := w.on(t)
				w.replaceWhileSuspended(in.plural, in.object)
				c := w.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonRevertFailed)
				t.Logf("Ready: %s", c.Message)
				for _, part := range in.says {
					check.That(t, strings.Contains(c.Message, part), "Ready does not say %q: %s", part, c.Message)
				}
				check.That(t, !strings.Contains(c.Message, "evil") && !strings.Contains(c.Message, "c3dvcmRmaXNo"),
					"Ready tells a value: %s", c.Message)
				w.Patch(kit.ConfigMaps, "plain", `{"data":{"key":"evil"}}`)
				w.WaitField(kit.ConfigMaps, "plain", "data.key", "declared")
				old := w.Get(resource(in.plural), in.object.GetName())
				w.Delete(resource(in.plural), in.object.GetName())
				u := w.WaitNewObject(resource(in.plural), in.object.GetName(), old.GetUID())
				check.Report(t, w.ownedByHelm(u))
				w.WaitReady("app", 1)
			})
		}
	})
}

// replaceWhileSuspended replaces an object before the lock can re-create it.
func (w *fixture) replaceWhileSuspended(plural string, object *unstructured.Unstructured) {
	w.Helper()
	w.whileSuspended(func() { w.replace(resource(plural), object, false) })
}

// whileSuspended does something to the release app while its lock is suspended.
func (w *fixture) whileSuspended(do func()) {
	w.Helper()
	w.PatchHelmRelease("app", `{"spec":{"suspend":true}}`)
	w.WaitReason("app", v1alpha1.ConditionLocked, v1alpha1.ReasonSuspended)
	do()
	w.PatchHelmRelease("app", `{"spec":{"suspend":false}}`)
}

// replace deletes an object and creates another one of its name, as kubectl replace --force does, or applies it.
func (w *fixture) replace(gvr schema.GroupVersionResource, object *unstructured.Unstructured, applies bool) {
	w.Helper()
	w.Delete(gvr, object.GetName())
	w.Eventually("it can be made anew", func() (err error) {
		if applies {
			options := metav1.ApplyOptions{FieldManager: kit.Tamperer}
			_, err = w.In(gvr, w.Apps).Apply(w.Ctx, object.GetName(), object, options)
		} else {
			_, err = w.In(gvr, w.Apps).Create(w.Ctx, object, metav1.CreateOptions{FieldManager: kit.Tamperer})
		}
		return err
	})
}

// anew returns an object without the metadata of the API server, to be created again.
func anew(object *unstructured.Unstructured) *unstructured.Unstructured {
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	return object
}
