package fidelity

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/managers"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

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
				chart := w.Chart("app", strings.ReplaceAll(blankKeys, "PROTOCOL", protocol))
				w.Helm(helm, "install", "app", chart, "--set", "rev=one")
				w.Lock("app")
				for _, plural := range []string{"services", "deployments"} {
					w.Patch(resource(plural), "web", `{"metadata":{"labels":{"mine":"stays"}}}`)
				}
				for _, d := range blankKeyDrifts {
					before := w.Get(resource(d.plural), "web")
					_, err := w.In(resource(d.plural), w.Apps).Patch(w.Ctx, "web", types.JSONPatchType, []byte(d.patch),
						metav1.PatchOptions{FieldManager: kit.Tamperer})
					check.NoError(t, err)
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
				w.Helm(helm, "upgrade", "app", chart, "--set", "rev=two")
				w.WaitReady("app", 2)
			})
		})
	}
}
