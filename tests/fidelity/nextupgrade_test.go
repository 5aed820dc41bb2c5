package fidelity

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// nextUpgrades is a chart of fields that the API server changes on arrival: nulls, also beside stringData and inside of
// a map with one owner, stringData, atomic lists and maps with defaults in their elements.
const nextUpgrades = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {rev: "{{ .Values.rev }}"}}
spec:
  revisionHistoryLimit:
  replicas: {{ .Values.replicas | default 1 }}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      imagePullSecrets:
      securityContext:
      volumes:
        - name: all
          projected:
            sources: [{configMap: {name: "{{ .Values.rev }}"}}, {downwardAPI: {items: [{path: a, fieldRef: {fieldPath: metadata.name}}]}}]
      containers:
        - {name: web, image: "{{ .Values.rev }}:1", resources: null, env: null, ports: [{containerPort: 80, name: null}]}
---
apiVersion: v1
kind: Secret
metadata: {name: texts}
stringData: {text: "{{ .Values.rev }}"}
data: {data: "{{ .Values.rev | b64enc }}"}
---
apiVersion: v1
kind: Secret
metadata: {name: blank}
data:
stringData: {text: "{{ .Values.rev }}"}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: net}
spec:
  podSelector: {matchLabels: {rev: "{{ .Values.rev }}"}, matchExpressions: null}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: "{{ .Release.Namespace }}"}
spec:
  matchConstraints:
    resourceRules:
      - {apiGroups: ["{{ .Values.rev }}.example.com"], apiVersions: [v1], operations: [CREATE], resources: [things]}
  validations: [{expression: "true", message: "{{ .Values.rev }}"}]
`

// others are the ways of another manager into a field of Helm's next apply. Each leaves the declared content, or
// content that is put back.
var others = map[string]func(w *fixture){
	"an apply of other values":    func(w *fixture) { w.applyAs("other", "evil") },
	"an apply of the same values": func(w *fixture) { w.applyAs("other", "one") },
	"patches of declared nulls": func(w *fixture) {
		w.Patch(resource("deployments"), "web", `{"spec":{"revisionHistoryLimit":3}}`)
		w.Strategic(resource("deployments"), "web", `{"spec":{"template":{"spec":{"imagePullSecrets":[{"name":"x"}],`+
			`"securityContext":{"runAsUser":7},"containers":[{"name":"web","env":[{"name":"X","value":"y"}],`+
			`"resources":{"limits":{"cpu":"1"}}}]}}}}`)
	},
	"a patch of declared nulls as helm": func(w *fixture) {
		w.PatchAs("helm", resource("deployments"), "web", `{"metadata":{"labels":{"rev":"evil"}},"spec":{"revisionHistoryLimit":3}}`)
	},
	"a change there and back": func(w *fixture) {
		w.Patch(resource("deployments"), "web", `{"metadata":{"labels":{"rev":"evil"}}}`)
		w.Patch(resource("deployments"), "web", `{"metadata":{"labels":{"rev":"one"}}}`)
	},
	"replicas there and back": func(w *fixture) {
		for _, n := range []int{2, 1} {
			w.PatchAs("other", resource("deployments"), "web", fmt.Sprintf(`{"spec":{"replicas":%d}}`, n), "scale")
		}
	},
	"managed fields cleared": func(w *fixture) {
		for _, o := range []struct{ plural, name string }{{"deployments", "web"}, {"secrets", "texts"}} {
			w.Patch(resource(o.plural), o.name, `{"metadata":{"managedFields":[{}]}}`)
		}
	},
}

// applyAs applies the manifest of the chart by another manager.
func (w *fixture) applyAs(manager, rev string) {
	manifest := strings.NewReplacer(`"{{ .Values.rev | b64enc }}"`, map[string]string{"one": "b25l", "evil": "ZXZpbA=="}[rev],
		"{{ .Values.rev }}", rev, "{{ .Release.Namespace }}", w.Apps, "{{ .Values.replicas | default 1 }}", "1").
		Replace(nextUpgrades)
	w.kubectl(manifest, nil, "apply", "--server-side", "--force-conflicts", "--field-manager="+manager, "-f", "-")
}

func TestI4_TheNextUpgradeNeedsNoForce(t *testing.T) {
	for name, attack := range others {
		for _, suspended := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, suspended %t", name, suspended), func(t *testing.T) {
				t.Parallel()
				w := newFixture(t)
				chart := w.installed(kit.Shared.Helm4(), nextUpgrades, "rev=one")
				before := w.owners()
				if suspended {
					w.whileSuspended(func() { attack(w) })
					w.WaitReady("app", 1)
				} else {
					attack(w)
				}
				w.Eventually("Helm alone owns what it sends", func() error { return w.ownsAlone(before, strings.Contains(name, "nulls")) })
				w.upgraded(kit.Shared.Helm4(), chart, "rev=two,replicas=2")
				w.WaitField(resource("deployments"), "web", "metadata.labels.rev", "two")
			})
		}
	}
}

var nextUpgradeObjects = map[string]schema.GroupVersionResource{
	"web": resource("deployments"), "texts": resource("secrets"), "blank": resource("secrets"),
	"net":    {Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"},
	"policy": {Group: admission, Version: "v1", Resource: "validatingadmissionpolicies"},
}

// owners returns what Helm's entries of managed fields own of the objects.
func (w *fixture) owners() map[string]string {
	w.Helper()
	found := map[string]string{}
	for name := range nextUpgradeObjects {
		for _, e := range w.sent(name).GetManagedFields() {
			if e.Manager == "helm" && e.Operation == metav1.ManagedFieldsOperationApply {
				found[name] = string(e.FieldsV1.GetRawBytes())
			}
		}
	}
	return found
}

func (w *fixture) sent(name string) *unstructured.Unstructured {
	w.Helper()
	gvr, namespace := nextUpgradeObjects[name], w.Apps
	if name == "policy" {
		name, namespace = w.Apps, ""
	}
	u, err := w.In(gvr, namespace).Get(w.Ctx, name, metav1.GetOptions{})
	check.NoError(w, err)
	return u
}

// ownsAlone returns an error unless Helm owns what it owned before, and no other manager any of it. Helm does not own a
// declared null in whose place somebody has added something.
func (w *fixture) ownsAlone(before map[string]string, added bool) error {
	now := w.owners()
	for name := range nextUpgradeObjects {
		if now[name] != before[name] && !added {
			return fmt.Errorf("of %s Helm owns %s, and owned %s", name, now[name], before[name])
		}
		helm := setOf(before[name])
		for _, e := range w.sent(name).GetManagedFields() {
			if e.Manager == "helm" && e.Operation == metav1.ManagedFieldsOperationApply || e.Subresource == "status" {
				continue
			}
			if shared := setOf(string(e.FieldsV1.GetRawBytes())).Intersection(helm); !shared.Empty() {
				return fmt.Errorf("of %s %s owns %s", name, e.Manager, shared)
			}
		}
	}
	return nil
}

func setOf(fields string) *fieldpath.Set {
	set := &fieldpath.Set{}
	if err := set.FromJSON(strings.NewReader(fields)); err != nil {
		panic(err)
	}
	return set
}

// A blank declared caBundle is left to its controller. A re-created object has it again: the API server may refuse the
// object without one, and the controller may look for it.
func TestI4_ABlankCABundleIsCreatedAgain(t *testing.T) {
	const manifest = `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: "{{ .Release.Namespace }}"}
webhooks:
  - name: hook.example.com
    sideEffects: None
    admissionReviewVersions: [v1]
    failurePolicy: Ignore
    clientConfig: {caBundle: Cg==, service: {name: web, namespace: none}}
`
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		w.Installed(helm, "app", manifest)
		gvr := resource("mutatingwebhookconfigurations")
		find := func() *unstructured.Unstructured {
			u, err := w.In(gvr, "").Get(w.Ctx, w.Apps, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			check.NoError(w, err)
			return u
		}
		before := find()
		w.DeleteIn(gvr, "", w.Apps)
		w.Eventually("it is created again as it was", func() error {
			now := find()
			if now == nil || now.GetUID() == before.GetUID() {
				return errors.New("it is not there again")
			}
			return kit.Difference(before.Object["webhooks"], now.Object["webhooks"], "webhooks", nil)
		})
	})
}

// A blank declared caBundle that nobody fills in is Helm's: another manager that applied it, too, would make Helm's
// next apply fail, because the API server drops the blank value.
func TestI4_ABlankCABundleIsSharedWithNobody(t *testing.T) {
	w := newFixture(t)
	chart := w.Chart("app", `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: "{{ .Release.Namespace }}", labels: {rev: "{{ .Values.rev }}"}}
webhooks:
  - name: hook.example.com
    sideEffects: None
    admissionReviewVersions: [v1]
    failurePolicy: Ignore
    clientConfig: {caBundle: "", service: {name: web, namespace: none}}
    rules: [{apiGroups: [none.example.com], apiVersions: [v1], operations: [CREATE], resources: [things]}]
`)
	helm := kit.Shared.Helm4()
	w.Helm(helm, "install", "app", chart, "--set", "rev=one")
	w.Lock("app")
	w.kubectl(w.Helm(helm, "template", "app", chart, "--set", "rev=evil"), nil,
		"apply", "--server-side", "--force-conflicts", "--field-manager=other", "-f", "-")
	w.Eventually("it is Helm's alone", func() error {
		return sharedBy(w.kubectlGet("mutatingwebhookconfiguration/"+w.Apps), "other")
	})
	w.upgraded(helm, chart, "rev=two")
}
