package fidelity

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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
	_, err := w.In(resource(plural), w.Apps).Patch(w.Ctx, name, types.MergePatchType, []byte(`{"immutable":true}`),
		metav1.PatchOptions{FieldManager: manager})
	check.NoError(w, err)
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
		w.Helm(helm, "upgrade", "app", chart, "--set", "note=second")
		w.WaitReady("app", 2)
		w.WaitField(kit.ConfigMaps, "settings", "data.key", "second")
	})
}

// TestI8_AnUndeclaredImmutableIsReplaced is the same where the HelmRelease allows a replacement.
func TestI8_AnUndeclaredImmutableIsReplaced(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		chart := w.Chart("app", freezable)
		w.Helm(helm, "install", "app", chart, "--set", "note=first")
		w.Lock("app", func(hr *v1alpha1.HelmRelease) { hr.Spec.ReplaceImmutable = true })
		for _, object := range frozen {
			plural, name, _ := strings.Cut(object, "/")
			old := w.Get(resource(plural), name)
			w.freeze(plural, name, kit.Tamperer)
			made := w.WaitNewObject(resource(plural), name, old.GetUID())
			check.That(t, made.Object["immutable"] == nil, "%s is immutable again", object)
			check.Report(t, w.ownedByHelm(made))
		}
		w.WaitReady("app", 1)
		w.Helm(helm, "upgrade", "app", chart, "--set", "note=second")
		w.WaitReady("app", 2)
	})
}
