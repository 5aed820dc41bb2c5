package guard

import (
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

var autoscalers = schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}

// Before a refusal, the guard asks the API server for everything that could change its answer. Late events concern
// the autoscaler of a scaling request, or the HelmRelease.
func TestHostile_ARefusalByALateView(t *testing.T) {
	t.Parallel()
	t.Run("an autoscaler is created", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t)
		f.guarded(kit.Shared.Helm3(), "shop", shop)
		f.inForce(kit.Deployments, "web")
		defer f.Proxy.HoldWatch(cluster.WatchOf(autoscalers.Resource))()
		f.Create(autoscalers, f.Apps, `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {minReplicas: 1, maxReplicas: 5, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
`)
		f.passes("scale", "deployment", "web", "--replicas=4")
		f.refused(kit.Deployments, "web", "was refused", "scale", "deployment", "web", "--replicas=9")
	})
	for _, patch := range []string{
		`{"spec":{"suspend":true}}`, `{"spec":{"guard":"Off"}}`,
		`{"spec":{"guardExempt":[{"kind":"User","name":"alice"}]}}`,
	} {
		t.Run(patch, func(t *testing.T) {
			t.Parallel()
			f := newShop(t)
			as := []string{"--as", "alice", "--as-group", "system:masters"}
			f.refused(kit.ConfigMaps, "settings", "", append(as, "patch", "configmap", "settings", "-p", changed)...)
			release := f.Proxy.HoldWatch(cluster.WatchOf(kit.HelmReleases.Resource))
			defer release()
			f.PatchHelmRelease("shop", patch)
			f.passes(append(as, "patch", "configmap", "settings", "-p", changed)...)
			f.passes(append(as, "delete", "deployment", "web")...)
		})
	}
}

// A release that waits for a kind causes repeated discovery. The guard still knows the kind of a scaling request.
func TestHostile_AReleaseThatWaitsForAKind(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.guarded(kit.Shared.Helm3(), "shop", shop)
	f.inForce(kit.Deployments, "web")
	f.Forge(kit.ForgedRecord{Name: "waits",
		Manifest: "apiVersion: never.example.com/v1\nkind: Never\nmetadata: {name: never}\n"})
	f.CreateHelmRelease("waits")
	f.Proxy.Reset()
	f.Until("the kinds are discovered again", func() (any, bool) {
		f.PatchHelmRelease("waits", fmt.Sprintf(`{"metadata":{"annotations":{"at":%q}}}`, metav1.Now().String()))
		return "they are not", slices.ContainsFunc(f.Proxy.Requests(), func(r cluster.Request) bool { return r.Path == "/apis" })
	})
	f.refused(kit.Deployments, "web", "spec.replicas 2 -> 3 was refused", "scale", "deployment", "web", "--replicas=3")
}
