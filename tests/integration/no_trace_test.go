package integration

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

func TestI3_LockingWritesNothing(t *testing.T) {
	for name, helm := range kit.Helms(kit.Shared) {
		t.Run("to the objects of a release of "+name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.Helm(helm, "install", "app", w.Chart("app", withKeptObjects+application))
			before := w.Versions(w.Apps, stable...)
			w.Proxy.Reset()
			w.Lock("app")
			w.ExpectVersions(before, w.Apps, stable...)
			w.ExpectNoWrites()
			finalizers := w.HelmRelease("app").Finalizers
			check.That(t, len(finalizers) == 0, "the HelmRelease has finalizers: %v", finalizers)
			// Nor does unlocking.
			w.PatchHelmRelease("app", `{"spec":{"suspend":true}}`)
			w.WaitReason("app", v1alpha1.ConditionLocked, v1alpha1.ReasonSuspended)
			w.PatchHelmRelease("app", `{"spec":{"suspend":false}}`)
			w.WaitReason("app", v1alpha1.ConditionLocked, v1alpha1.ReasonLocked)
			w.WaitReady("app", 1)
			w.ExpectVersions(before, w.Apps, stable...)
			w.ExpectNoWrites()
		})
	}
	t.Run("and takes the finalizer of older operators off", func(t *testing.T) {
		t.Parallel()
		e := kit.New(t, kit.Shared)
		e.Forge(kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("one", "declared")})
		legacy := func(hr *v1alpha1.HelmRelease) {
			hr.Finalizers = []string{v1alpha1.LegacyFinalizer, "example.com/of-somebody-else"}
		}
		e.CreateHelmRelease("app", legacy)
		// This one hangs already, as it does when the older operator was uninstalled first.
		e.CreateHelmRelease("hanging",
			func(hr *v1alpha1.HelmRelease) { hr.Finalizers = []string{v1alpha1.LegacyFinalizer} })
		check.NoError(t, e.In(kit.HelmReleases, e.Operator).Delete(e.Ctx, "hanging", metav1.DeleteOptions{}))
		op := kit.StartOperator(t, e.OperatorConfig(), e.Operator)
		hr := e.WaitReady("app", 1)
		check.That(t, len(hr.Finalizers) == 1 && hr.Finalizers[0] == "example.com/of-somebody-else",
			"finalizers are %v", hr.Finalizers)
		e.WaitGone(kit.HelmReleases, e.Operator, "hanging")
		e.PatchHelmRelease("app", `{"metadata":{"finalizers":null}}`)
		op.Stop()
		e.DeleteHelmRelease("app") // does not hang although the operator is gone
	})
}

// A reverted object has no metadata and no field manager except those of Helm and of the tamperer.
func TestI3_PuttingBackLeavesNoTrace(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		w.Helm(helm, "install", "app", w.Chart("app", application))
		var left []target
		for gvr, name := range map[schema.GroupVersionResource]string{kit.ConfigMaps: "settings",
			kit.Secrets: "credentials", kit.Services: "web"} {
			left = append(left, target{gvr, name, declared(w.Get(gvr, name))})
		}
		w.Lock("app")
		for _, o := range left {
			w.Patch(o.gvr, o.name,
				`{"metadata":{"labels":{"app.kubernetes.io/managed-by":null},"annotations":{"meta.helm.sh/release-name":"me"}}}`)
		}
		w.Patch(kit.ConfigMaps, "settings", `{"data":{"key":"tampered"}}`)
		w.Patch(kit.Secrets, "credentials", `{"data":{"password":null}}`)
		w.Patch(kit.Services, "web", `{"spec":{"selector":{"app":"tampered"}}}`)
		w.waitTraceless(left)
		for _, o := range left {
			w.Delete(o.gvr, o.name)
		}
		w.waitTraceless(left)
	})
}

// waitTraceless waits until the objects are as they were, and none but Helm and the tamperer owns a field of them.
func (w *fixture) waitTraceless(targets []target) {
	w.Helper()
	w.waitRestored(targets...)
	for _, o := range targets {
		w.Eventually("nobody but Helm and the tamperer owns a field of "+o.String(), func() error {
			for _, entry := range w.Get(o.gvr, o.name).GetManagedFields() {
				if entry.Manager != "helm" && entry.Manager != kit.Tamperer {
					return fmt.Errorf("%s does: %s", entry.Manager, entry.FieldsV1.GetRawString())
				}
			}
			return nil
		})
	}
}

// The operator's watches determine its memory and CPU time. It watches Helm's objects of the locked kinds, as long as
// they are locked, and only the metadata of the records.
func TestI11_OnlyWhatIsLockedIsWatched(t *testing.T) {
	t.Parallel()
	e := kit.New(t, kit.Shared)
	w := &fixture{Fixture: &kit.Fixture{Env: e, Proxy: e.NewProxy()}}
	var mu sync.Mutex
	var asked []*http.Request
	w.Proxy.Intercept(func(r *http.Request) cluster.Action {
		if cluster.IsWatch(r) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, r.Clone(r.Context()))
		}
		return cluster.Forward()
	})
	w.Running = kit.StartOperator(t, w.Proxy.RESTConfig(), w.Operator)
	w.Installed(kit.Shared.Helm3(), "app", application)
	mu.Lock()
	for _, r := range asked {
		query := r.URL.Query()
		labels, fields := query.Get("labelSelector"), query.Get("fieldSelector")
		metadata := strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata")
		ofHelm := labels == "app.kubernetes.io/managed-by=Helm"
		records := metadata && labels == "owner in (helm,helm-locker)" && fields == "type=helm.sh/release.v1"
		ours := strings.HasSuffix(r.URL.Path, "/namespaces/"+w.Operator+"/helmreleases")
		definitions := metadata && strings.HasSuffix(r.URL.Path, "/customresourcedefinitions")
		// An autoscaler of anybody's may set the replicas of the Deployment in the release.
		autoscalers := strings.HasSuffix(r.URL.Path, "/horizontalpodautoscalers")
		if !ofHelm && !records && !ours && !definitions && !autoscalers {
			t.Errorf("the operator watches more than it needs: %s, Accept: %s", r.URL, r.Header.Get("Accept"))
		}
	}
	mu.Unlock()

	ofObjects := cluster.Match(cluster.IsWatch).And(cluster.ForQuery("labelSelector", "managed-by"))
	n := w.Proxy.Watches(ofObjects)
	check.That(t, n == 4, "for a release of four kinds %d are watched", n)
	w.DeleteHelmRelease("app")
	w.Until("nothing is watched of a release that is locked no more", func() (any, bool) {
		n := w.Proxy.Watches(ofObjects)
		return n, n == 0
	})
}
