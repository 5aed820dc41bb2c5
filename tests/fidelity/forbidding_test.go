package fidelity

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// Each object declares a field that an addition of the drifts below forbids.
const forbidden = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: noescal, labels: {tier: gold}}
spec:
  replicas: 0
  strategy: {type: Recreate}
  selector: {matchLabels: {app: noescal}}
  template:
    metadata: {labels: {app: noescal}}
    spec:
      nodeSelector: {none: "none"}
      containers:
      - name: c
        image: registry.example/c:1
        securityContext: {allowPrivilegeEscalation: false}
        resources: {requests: {cpu: 100m}}
---
apiVersion: v1
kind: Service
metadata: {name: headless}
spec: {clusterIP: None, selector: {app: x}, ports: [{port: 80}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Namespace }}-policed}
data: {mode: safe}
---
apiVersion: bolts.{{ .Release.Namespace }}.example/v1
kind: Bolt
metadata: {name: one}
spec: {left: 1}
---
apiVersion: bolts.{{ .Release.Namespace }}.example/v1
kind: Bolt
metadata: {name: few}
spec: {sizes: {a: 1, b: 2}}
`

const boltDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: bolts.bolts.NAMESPACE.example}
spec:
  group: bolts.NAMESPACE.example
  names: {kind: Bolt, plural: bolts}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            x-kubernetes-validations:
            - {rule: "!(has(self.left) && has(self.right))", message: left or right}
            properties:
              left: {type: integer}
              right: {type: integer}
              note: {type: string}
              sizes: {type: object, maxProperties: 2, additionalProperties: {type: integer}}
`

// forbiddingDrift is a change of a declared field together with additions. The revert removes the additions that
// exclude every declared value in the API server's validation; the fields at the paths in stays remain.
type forbiddingDrift struct {
	name, object, patch string
	stays               []string
}

var forbiddingDrifts = []forbiddingDrift{
	{"privileged", "deployments/noescal", `{"metadata":{"labels":{"note":"mine"}},"spec":{"template":{"spec":{"containers":
		[{"name":"c","securityContext":{"allowPrivilegeEscalation":true,"privileged":true,"runAsUser":1000}}]}}}}`,
		[]string{"/metadata/labels/note", "/spec/template/spec/containers/0/securityContext/runAsUser"}},
	{"limits", "deployments/noescal", `{"spec":{"template":{"spec":{"containers":
		[{"name":"c","resources":{"requests":{"cpu":"10m"},"limits":{"cpu":"10m","memory":"1Gi"}}}]}}}}`,
		[]string{"/spec/template/spec/containers/0/resources/limits/memory"}},
	{"strategy", "deployments/noescal", `{"spec":{"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":2}}}}`, nil},
	{"both, and the image", "deployments/noescal", `{"spec":{"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":2}},
		"template":{"spec":{"containers":[{"name":"c","image":"evil.example/c:1",
		"securityContext":{"allowPrivilegeEscalation":true,"privileged":true}}]}}}}`, nil},
	{"external name", "services/headless",
		`{"spec":{"type":"ExternalName","externalName":"evil.example","clusterIP":null,"clusterIPs":null}}`,
		[]string{"/spec/externalName"}}, // which means nothing without the type
	{"admission policy", "configmaps/NAMESPACE-policed",
		`{"metadata":{"labels":{"evil":"x","other":"y"}},"data":{"mode":"evil"}}`, []string{"/metadata/labels/other"}},
	{"CEL rule", "bolts/one", `{"spec":{"left":null,"right":2,"note":"mine"}}`, []string{"/spec/note"}},
	{"number of keys", "bolts/few", `{"spec":{"sizes":{"a":null,"x":3}}}`, nil},
}

// TestI5_AnAdditionThatForbidsTheDeclaredValueGoes changes declared fields together with additions that exclude every
// declared value in the API server's validation. The declared values are restored, and only as many additions are
// removed as necessary.
func TestI5_AnAdditionThatForbidsTheDeclaredValueGoes(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		beside := filepath.Join(t.TempDir(), "beside.yaml")
		check.NoError(t, os.WriteFile(beside,
			[]byte(strings.ReplaceAll(boltDefinition, "NAMESPACE", w.Apps)), 0o600))
		w.Kubectl("apply", "-f", beside)
		chart := w.Chart("app", forbidden)
		w.Eventually("the kind is served", func() error {
			_, err := helm.Run(w.Ctx, "upgrade", "--install", "app", chart, "--namespace", w.Apps)
			return err
		})
		w.Deny(kit.ConfigMaps, "!(has(object.metadata.labels) && 'evil' in object.metadata.labels && "+
			"object.data.mode == 'safe')", w.Apps+"-policed", `{"metadata":{"labels":{"evil":"x"}}}`)
		w.Lock("app")
		for _, d := range forbiddingDrifts {
			t.Run(d.name, func(t *testing.T) { w.on(t).revertsForbidding(d) })
		}
		w.Helm(helm, "upgrade", "app", chart)
	})
}

func (w *fixture) revertsForbidding(d forbiddingDrift) {
	w.Helper()
	plural, name, _ := strings.Cut(strings.ReplaceAll(d.object, "NAMESPACE", w.Apps), "/")
	gvr := resource(plural)
	patchType := types.StrategicMergePatchType
	if plural == "bolts" {
		gvr = schema.GroupVersionResource{Group: "bolts." + w.Apps + ".example", Version: "v1", Resource: plural}
		patchType = types.MergePatchType
	}
	before := contentOf(w.Get(gvr, name))
	drifted, err := w.In(gvr, w.Apps).Patch(w.Ctx, name, patchType, []byte(d.patch),
		metav1.PatchOptions{FieldManager: kit.Tamperer})
	check.NoError(w, err)
	if reflect.DeepEqual(before, contentOf(drifted)) {
		w.Fatal("the patch changes nothing")
	}
	w.Eventually("the declared values are back, and the other additions stay", func() error {
		now := contentOf(w.Get(gvr, name))
		for _, path := range d.stays {
			if !takeOut(now, strings.Split(path[1:], "/")) {
				return fmt.Errorf("%s is gone: %v", path, now)
			}
		}
		return kit.Difference(before, now, "", nil)
	})
	w.Eventually("the record names the additions", func() error {
		recent := w.HelmRelease("app").Status.RecentDrift
		if len(recent) == 0 || recent[0].Action != v1alpha1.DriftActionReverted {
			return fmt.Errorf("recent drift is %+v", recent)
		}
		return nil
	})
	// The remaining additions are removed for the next drift.
	for _, path := range d.stays {
		w.Patch(gvr, name, fmt.Sprintf(`[{"op":"remove","path":%q}]`, path))
	}
}

// contentOf returns an object without the fields that every write changes.
func contentOf(u *unstructured.Unstructured) map[string]any {
	if u == nil {
		return nil
	}
	u = u.DeepCopy()
	for _, field := range []string{"resourceVersion", "generation", "managedFields"} {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	delete(u.Object, "status")
	annotations := u.GetAnnotations()
	for _, counter := range []string{"deployment.kubernetes.io/revision", "deprecated.daemonset.template.generation"} {
		delete(annotations, counter)
	}
	u.SetAnnotations(annotations)
	return u.Object
}

// takeOut removes the field at a path, and the maps that this empties. It reports whether the field existed.
func takeOut(v any, path []string) bool {
	switch x := v.(type) {
	case map[string]any:
		below, found := x[path[0]]
		if !found {
			return false
		}
		if len(path) > 1 && !takeOut(below, path[1:]) {
			return false
		}
		if m, isMap := below.(map[string]any); len(path) == 1 || isMap && len(m) == 0 {
			delete(x, path[0])
		}
		return true
	case []any:
		i := slices.Index([]string{"0", "1", "2"}, path[0])
		return i >= 0 && i < len(x) && takeOut(x[i], path[1:])
	}
	return false
}
