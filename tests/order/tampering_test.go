package order

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// everyField renders objects with a chart value in each field that the tests below tamper with.
const everyField = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app
  labels: {team: {{ .Values.team }}}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec:
      containers:
      - name: main
        image: example.com/main:{{ .Values.tag }}
        ports: [{name: http, containerPort: {{ .Values.port }}}]
        env:
        - {name: {{ .Values.env }}, value: some}
        - {name: OTHER, value: same}
---
apiVersion: v1
kind: Service
metadata: {name: app}
spec:
  selector: {app: app}
  ports: [{name: http, port: {{ .Values.port }}, targetPort: {{ .Values.port }}}]
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: app
  annotations: {note: {{ .Values.team }}}
data: {value: {{ .Values.value }}, other: same}
`

const (
	valuesBefore = "team=red,replicas=2,tag=one,port=80,env=MODE,value=first"
	valuesAfter  = "team=blue,replicas=3,tag=two,port=90,env=KIND,value=second"
)

// tampering is one change to an object of everyField.
type tampering struct {
	name     string
	resource schema.GroupVersionResource
	do       func(b *fixture)
}

func patching(name string, gvr schema.GroupVersionResource, patch string) tampering {
	return tampering{name, gvr, func(b *fixture) { b.Patch(gvr, "app", patch) }}
}

func deleting(gvr schema.GroupVersionResource) tampering {
	return tampering{"deleted " + gvr.Resource, gvr, func(b *fixture) { b.Delete(gvr, "app") }}
}

func tamperings() []tampering {
	const container = "/spec/template/spec/containers/0"
	replace := func(path string, value any) string {
		return fmt.Sprintf(`[{"op":"replace","path":%q,"value":%#v}]`, path, value)
	}
	return []tampering{
		patching("changed field", kit.ConfigMaps, `{"data":{"value":"tampered"}}`),
		patching("changed field of a list element", kit.Deployments, replace(container+"/image", "evil:1")),
		patching("removed field", kit.ConfigMaps, `{"data":{"value":null}}`),
		patching("removed label", kit.Deployments, `{"metadata":{"labels":{"team":null}}}`),
		patching("removed annotation", kit.ConfigMaps, `{"metadata":{"annotations":{"note":null}}}`),
		patching("removed Helm's name annotation", kit.Services,
			`{"metadata":{"annotations":{"meta.helm.sh/release-name":null}}}`),
		patching("changed Helm's name annotation", kit.ConfigMaps,
			`{"metadata":{"annotations":{"meta.helm.sh/release-name":"other"}}}`),
		patching("removed all annotations", kit.Deployments, `{"metadata":{"annotations":null}}`),
		patching("removed Helm's label", kit.ConfigMaps, `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`),
		patching("changed Helm's label", kit.Services, `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"me"}}}`),
		patching("renamed Service port", kit.Services, replace("/spec/ports/0/port", 81)),
		patching("renamed container port", kit.Deployments, replace(container+"/ports/0/containerPort", 81)),
		patching("renamed environment variable", kit.Deployments, replace(container+"/env/0/name", "EVIL")),
		patching("removed list element", kit.Deployments, `[{"op":"remove","path":"`+container+`/env/0"}]`),
		patching("renamed container", kit.Deployments, replace(container+"/name", "evil")),
		{"applied by somebody else", kit.ConfigMaps, func(b *fixture) {
			b.applies(map[string]any{"metadata": map[string]any{"name": "app"}, "data": map[string]any{"value": "applied"}})
		}},
		{"updated under Helm's name", kit.ConfigMaps, func(b *fixture) {
			b.PatchAs("helm", kit.ConfigMaps, "app", `{"data":{"value":"helm's"}}`)
		}},
		{"scaled", kit.Deployments, func(b *fixture) {
			b.PatchAs("kubectl", kit.Deployments, "app", `{"spec":{"replicas":7}}`, "scale")
		}},
		deleting(kit.ConfigMaps), deleting(kit.Services), deleting(kit.Deployments),
	}
}

// applies applies ConfigMap app as another user, by force.
func (b *fixture) applies(content map[string]any) {
	b.Helper()
	content["apiVersion"], content["kind"] = "v1", "ConfigMap"
	_, err := b.In(kit.ConfigMaps, b.Apps).Apply(b.Ctx, "app", &unstructured.Unstructured{Object: content},
		metav1.ApplyOptions{FieldManager: kit.Tamperer, Force: true})
	check.NoError(b, err)
}
