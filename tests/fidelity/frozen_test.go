package fidelity

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// Each object can be made immutable, and no request undoes that.
const freezable = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {tier: gold}}
data: {key: "{{ .Values.note }}"}
---
apiVersion: v1
kind: Secret
metadata: {name: login}
stringData: {password: "{{ .Values.note }}"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: ignored}
data: {key: "{{ .Values.note }}"}
`

var frozen = []string{"configmaps/settings", "secrets/login"}

// freeze makes an object immutable as a field manager.
func (w *fixture) freeze(plural, name, manager string) {
	w.Helper()
	w.PatchAs(manager, resource(plural), name, `{"immutable":true}`)
}

// TestI8_AnUndeclaredImmutableIsDrift makes objects immutable under any name, Helm's too. All data is as declared, but
// the next upgrade could not change it, so the objects are reported, with the way out.
func TestI8_AnUndeclaredImmutableIsDrift(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		chart := w.Chart("app", freezable)
		w.Helm(helm, "install", "app", chart, "--set", "note=first")
		w.Lock("app", func(hr *v1alpha1.HelmRelease) {
			hr.Spec.Ignore = []v1alpha1.IgnoreRule{{Paths: []string{"/immutable"},
				Target: &v1alpha1.IgnoreTarget{Name: "ignored"}}}
		})
		w.freeze("configmaps", "ignored", kit.Tamperer)
		w.freeze("configmaps", "settings", kit.Tamperer)
		w.freeze("secrets", "login", "helm")
		w.Eventually("both are reported with the field and the way out", func() error {
			message := w.Condition("app", v1alpha1.ConditionReady).Message
			for _, part := range []string{"ConfigMap " + w.Apps + "/settings", "Secret " + w.Apps + "/login",
				"immutable", "spec.replaceImmutable", "when you delete it"} {
				if !strings.Contains(message, part) {
					return fmt.Errorf("no %q in: %s", part, message)
				}
			}
			if strings.Contains(message, "/ignored") || strings.Contains(message, "data") {
				return fmt.Errorf("too much in: %s", message)
			}
			return nil
		})
		w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonRevertFailed)
		w.Patch(kit.ConfigMaps, "settings", `{"metadata":{"labels":{"tier":"evil"}}}`)
		w.WaitField(kit.ConfigMaps, "settings", "metadata.labels.tier", "gold")
		w.Throughout(time.Second, "only the label is restored", func() error {
			if n := len(w.landed()); n > 2 { // a revert of up to two requests
				return fmt.Errorf("%d writes", n)
			}
			return nil
		})
		for _, object := range frozen {
			plural, name, _ := strings.Cut(object, "/")
			w.Delete(resource(plural), name)
			w.WaitField(resource(plural), name, "immutable", nil)
		}
		w.WaitReady("app", 1)
		w.Kubectl("-n", w.Apps, "delete", "configmap", "ignored")
		w.WaitField(kit.ConfigMaps, "ignored", "data.key", "first")
		w.upgraded(helm, chart, "note=second")
		w.WaitField(kit.ConfigMaps, "settings", "data.key", "second")
	})
}

// TestI8_AnUndeclaredImmutableIsReplaced is the same where the HelmRelease allows a replacement.
func TestI8_AnUndeclaredImmutableIsReplaced(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		chart := w.installed(helm, freezable, "note=first", func(hr *v1alpha1.HelmRelease) {
			hr.Spec.ReplaceImmutable = true
		})
		for _, object := range frozen {
			plural, name, _ := strings.Cut(object, "/")
			old := w.Get(resource(plural), name)
			w.freeze(plural, name, kit.Tamperer)
			made := w.WaitNewObject(resource(plural), name, old.GetUID())
			check.That(t, made.Object["immutable"] == nil, "%s is immutable again", object)
			check.Report(t, w.ownedByHelm(made))
		}
		w.WaitReady("app", 1)
		w.upgraded(helm, chart, "note=second")
	})
}

// Objects are replaced by others with an irreversible difference. The condition names the field, the rest of the
// release stays protected, and the object is restored once that is possible.
func TestMoments_ImmutableDifference(t *testing.T) {
	const sealed = "{apiVersion: v1, kind: ConfigMap, metadata: {name: sealed}, immutable: true, data: {key: evil}}"
	const typed = `{apiVersion: v1, kind: Secret, metadata: {name: typed}, type: example.com/evil,
		data: {password: ZXZpbA==}}`
	const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: evil}}
  template: {metadata: {labels: {app: evil}}, spec: {containers: [{name: main, image: "evil:1"}]}}
`
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		w.locked(helm)
		for _, in := range []struct {
			plural, manifest string
			says             []string
		}{
			{"configmaps", sealed, []string{"ConfigMap " + w.Apps + "/sealed", "data"}},
			{"secrets", typed, []string{"Secret " + w.Apps + "/typed", "type"}},
			{"deployments", deployment, []string{"Deployment " + w.Apps + "/web", "spec.selector"}},
		} {
			t.Run(in.plural, func(t *testing.T) {
				w := w.on(t)
				object := &unstructured.Unstructured{}
				check.NoError(t, yaml.Unmarshal([]byte(in.manifest), object))
				w.replaceWhileSuspended(in.plural, object)
				c := w.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonRevertFailed)
				t.Logf("Ready: %s", c.Message)
				for _, part := range in.says {
					check.That(t, strings.Contains(c.Message, part), "Ready does not say %q: %s", part, c.Message)
				}
				check.That(t, !strings.Contains(c.Message, "evil") && !strings.Contains(c.Message, "c3dvcmRmaXNo"),
					"Ready tells a value: %s", c.Message)
				w.Patch(kit.ConfigMaps, "plain", `{"data":{"key":"evil"}}`)
				w.WaitField(kit.ConfigMaps, "plain", "data.key", "declared")
				old := w.Get(resource(in.plural), object.GetName())
				w.Delete(resource(in.plural), object.GetName())
				u := w.WaitNewObject(resource(in.plural), object.GetName(), old.GetUID())
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
