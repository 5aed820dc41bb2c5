package fidelity

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

const withoutAuthorities = `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: "v1.{{ .Release.Namespace }}.example"}
spec:
  group: "{{ .Release.Namespace }}.example"
  version: v1
  groupPriorityMinimum: 10
  versionPriority: 10
  insecureSkipTLSVerify: true
  service: {name: none, namespace: "{{ .Release.Namespace }}"}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: "gears.{{ .Release.Namespace }}.test"}
spec:
  group: "{{ .Release.Namespace }}.test"
  names: {kind: Gear, plural: gears}
  scope: Namespaced
  conversion: {strategy: None}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`

// An undeclared caBundle is left to the controller that injects it, unless it forbids a declared value.
func TestI5_ACABundleThatForbidsTheDeclaredValueGoes(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		w.Installed(helm, "app", withoutAuthorities)
		bundle := base64.StdEncoding.EncodeToString(w.OperatorConfig().CAData)
		for _, d := range []struct {
			gvr         schema.GroupVersionResource
			name, patch string
		}{
			{schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"},
				"v1." + w.Apps + ".example", `{"spec":{"insecureSkipTLSVerify":false,"caBundle":"Cg=="}}`},
			{resource("customresourcedefinitions"), "gears." + w.Apps + ".test",
				`{"spec":{"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],` +
					`"clientConfig":{"url":"https://127.0.0.1:9/none","caBundle":"` + bundle + `"}}}}}`},
		} {
			get := func() map[string]any {
				u, err := w.In(d.gvr, "").Get(w.Ctx, d.name, metav1.GetOptions{})
				check.NoError(t, err)
				spec, _, err := unstructured.NestedMap(u.Object, "spec")
				check.NoError(t, err)
				return spec
			}
			before := get()
			_, err := w.In(d.gvr, "").Patch(w.Ctx, d.name, types.MergePatchType, []byte(d.patch),
				metav1.PatchOptions{FieldManager: kit.Tamperer})
			check.NoError(t, err)
			w.Eventually(d.gvr.Resource+" "+d.name+" is as before", func() error {
				if now := get(); !reflect.DeepEqual(before, now) {
					return fmt.Errorf("it is %v", now)
				}
				return nil
			})
		}
		w.WaitReady("app", 1)
	})
}
