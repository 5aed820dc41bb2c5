package guard

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/tests/lib/kit"
)

const autoscalerOfVersion1 = `
apiVersion: autoscaling/v1
kind: HorizontalPodAutoscaler
metadata: {name: first}
spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: first}}
`

const autoscalerOfVersion2 = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: second}
spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: second}}
`

// An object is guarded in each version that the API server serves, whatever versions other releases declare.
func TestHostile_NoVersionOfAnotherReleaseIsAWayAround(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.guarded(kit.Shared.Helm3(), "one", kit.ConfigMap("one", "declared")+"\n---\n"+autoscalerOfVersion1)
	f.guarded(kit.Shared.Helm3(), "two", kit.ConfigMap("two", "declared")+"\n---\n"+autoscalerOfVersion2)
	f.inForce(kit.ConfigMaps, "two")
	for _, version := range []string{"v1", "v2"} {
		resource := "horizontalpodautoscalers." + version + ".autoscaling"
		gvr := schema.GroupVersionResource{Group: "autoscaling", Version: version, Resource: "horizontalpodautoscalers"}
		for _, name := range []string{"first", "second"} {
			f.refused(gvr, name, "spec.maxReplicas was refused",
				"patch", resource, name, "--type=merge", "-p", `{"spec":{"maxReplicas":99}}`)
			f.refused(gvr, name, "its deletion was refused", "delete", resource, name)
		}
	}
}
