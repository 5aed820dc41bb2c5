package fidelity

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/managers"
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
			before, err := w.In(d.gvr, "").Get(w.Ctx, d.name, metav1.GetOptions{})
			check.NoError(t, err)
			w.PatchIn(d.gvr, "", d.name, d.patch)
			w.WaitFieldIn(d.gvr, "", d.name, "spec", before.Object["spec"])
		}
		w.WaitReady("app", 1)
	})
}

const roleWithRules = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "{{ .Release.Namespace }}"}
rules: [{apiGroups: [""], resources: [pods, "{{ .Values.rev }}"], verbs: [get]}]
`

// An aggregationRule beside declared rules makes a controller of Kubernetes replace these after every revert, so it
// goes with the first one.
func TestI5_AnAggregationDoesNotReplaceDeclaredRules(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		chart := w.installed(helm, roleWithRules, "rev=one")
		roles := w.In(resource("clusterroles"), "")
		before, err := roles.Get(w.Ctx, w.Apps, metav1.GetOptions{})
		check.NoError(t, err)
		w.PatchIn(resource("clusterroles"), "", w.Apps, `{"aggregationRule":{
			"clusterRoleSelectors":[{"matchLabels":{"rbac.authorization.k8s.io/aggregate-to-view":"true"}}]}}`)
		w.Eventually("the rules are as declared, without an aggregation", func() error {
			now, err := roles.Get(w.Ctx, w.Apps, metav1.GetOptions{})
			if err == nil && !reflect.DeepEqual(contentOf(now), contentOf(before)) {
				err = fmt.Errorf("it is %v", now.Object)
			}
			return err
		})
		w.WaitReason("app", v1alpha1.ConditionDrifted, v1alpha1.ReasonDriftReverted)
		w.WaitReady("app", 1)
		w.upgraded(helm, chart, "rev=two")
	})
}

// blankKeys declares merge keys as null or empty. The API server refuses a second server-side apply of the Service as
// it stands, and takes that of the Deployment for further ports.
const blankKeys = `
apiVersion: v1
kind: Service
metadata: {name: web, labels: {rev: "{{ .Values.rev }}"}}
spec:
  selector: {app: "{{ .Values.rev }}"}
  ports: [{name: a, port: 80, protocol: PROTOCOL}, {name: b, port: 81}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {rev: "{{ .Values.rev }}"}}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "{{ .Values.rev }}:1", ports: [{containerPort: 80, protocol: PROTOCOL}]}]}
`

// blankKeyDrifts are changes of declared fields beside an addition, which stays.
var blankKeyDrifts = []struct{ name, plural, patch string }{
	{"a label", "services", `[{"op":"replace","path":"/metadata/labels/rev","value":"evil"}]`},
	{"a key", "services", `[{"op":"replace","path":"/spec/ports/0/port","value":8080}]`},
	{"a selector", "services", `[{"op":"replace","path":"/spec/selector/app","value":"evil"}]`},
	{"an image", "deployments", `[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"evil"}]`},
	{"a port", "deployments",
		`[{"op":"replace","path":"/spec/template/spec/containers/0/ports/0/containerPort","value":8}]`},
}

// A merge key that is declared as null or empty is the API server's default of it. A revert restores all of the object,
// takes out no addition, and leaves the fields to Helm alone, so the next upgrade succeeds.
func TestI4_AnEmptyMergeKeyIsItsDefault(t *testing.T) {
	for _, protocol := range []string{`""`, "null"} {
		t.Run(protocol, func(t *testing.T) {
			kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
				w := newFixture(t)
				chart := w.installed(helm, strings.ReplaceAll(blankKeys, "PROTOCOL", protocol), "rev=one")
				for _, plural := range []string{"services", "deployments"} {
					w.Patch(resource(plural), "web", `{"metadata":{"labels":{"mine":"stays"}}}`)
				}
				for _, d := range blankKeyDrifts {
					before := w.Get(resource(d.plural), "web")
					w.Patch(resource(d.plural), "web", d.patch)
					w.Eventually(d.name+" is restored, by Helm", func() error {
						now := w.Get(resource(d.plural), "web")
						if !reflect.DeepEqual(now.Object["spec"], before.Object["spec"]) ||
							!reflect.DeepEqual(now.GetLabels(), before.GetLabels()) {
							return fmt.Errorf("it is %v, %v", now.GetLabels(), now.Object["spec"])
						}
						if managers.Unfinished(now.GetManagedFields()) {
							return fmt.Errorf("an unfinished revert owns fields: %v", now.GetManagedFields())
						}
						return nil
					})
				}
				w.WaitReason("app", v1alpha1.ConditionDrifted, v1alpha1.ReasonDriftReverted)
				w.WaitReady("app", 1)
				w.upgraded(helm, chart, "rev=two")
			})
		})
	}
}
