package integration

import (
	"os"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

const exported = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations: {deployment.kubernetes.io/revision: "12", mine: declared}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "example.com/web:1"}]}}
`

// A manifest exported from a cluster declares the revision annotation of a Deployment, which belongs to its
// controller. The controller keeps it, also while another annotation is reverted.
func TestCoexistence_ExportedManifest(t *testing.T) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		w.Helm(helm, "install", "app", w.Chart("app", exported))
		revision := func() any {
			u := w.Get(kit.Deployments, "web")
			if u == nil {
				return nil
			}
			return u.GetAnnotations()["deployment.kubernetes.io/revision"]
		}
		w.Until("the controller has written the revision", func() (any, bool) { return revision(), revision() == "1" })
		w.Proxy.Reset()
		w.Lock("app")
		w.exceptions("app", "SetByKubernetes Deployment/web /metadata/annotations/deployment.kubernetes.io~1revision")
		w.PassFence()
		w.ExpectNoWrites()
		w.Patch(kit.Deployments, "web", `{"metadata":{"annotations":{"mine":"tampered"}}}`)
		w.WaitField(kit.Deployments, "web", "metadata.annotations.mine", "declared")
		if revision() != "1" {
			t.Errorf("the revision became %v", revision())
		}
	})
}

// Manifests of eight kinds with the metadata, defaults and status of controllers, as kubectl get -o yaml prints them,
// are locked without a write.
func TestCoexistence_ExportedKinds(t *testing.T) {
	t.Parallel()
	manifests, err := os.ReadFile("testdata/exported.yaml")
	check.NoError(t, err)
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		w.Helm(helm, "install", "app", w.Chart("app", string(manifests)))
		w.Proxy.Reset()
		w.Lock("app")
		w.exceptions("app",
			"SetByKubernetes DaemonSet/ds /metadata/annotations/deprecated.daemonset.template.generation",
			"SetByKubernetes PersistentVolumeClaim/pvc "+strings.Join([]string{
				"/metadata/annotations/pv.kubernetes.io~1bind-completed",
				"/metadata/annotations/pv.kubernetes.io~1bound-by-controller",
				"/metadata/annotations/volume.beta.kubernetes.io~1storage-provisioner",
				"/metadata/annotations/volume.kubernetes.io~1selected-node"}, ","))
		w.PassFence()
		w.ExpectNoWrites()
	})
}
