package integration

import (
	"net/http"
	"slices"
	"testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// A HelmRelease is suspended, and its event is not here yet when the operator is about to delete an object of an
// earlier revision.
func TestHostile_NothingIsPrunedForAReleaseThatHasJustBeenSuspended(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.leaveBehind("app")
	history := w.Proxy.HoldRequests(cluster.ForPath("/sh.helm.release.v1.app.v1", http.MethodGet))
	defer history.Release()
	w.CreateHelmRelease("app")
	check.NoError(t, history.Wait(t.Context(), 1))
	deliver := w.Proxy.HoldWatch(cluster.WatchOf(kit.HelmReleases.Resource))
	defer deliver()
	w.PatchHelmRelease("app", `{"spec":{"suspend":true}}`)
	w.Proxy.Reset()
	history.Release()
	w.asksForHelmRelease(2) // one object after the other: the first would be gone by then
	deliver()
	w.WaitReason("app", v1alpha1.ConditionLocked, v1alpha1.ReasonSuspended)
	check.That(t, w.Get(kit.ConfigMaps, "old") != nil && w.Get(cronJobs, "old") != nil, "an object was deleted")
}

// The same for an object that is deleted and re-created because a field is immutable.
func TestHostile_NothingIsReplacedOnceThatIsNotAskedFor(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Installed(kit.Shared.Helm3(), "app", kit.ConfigMap("settings", "declared"),
		func(hr *v1alpha1.HelmRelease) { hr.Spec.ReplaceImmutable = true })
	before := w.Get(kit.ConfigMaps, "settings").GetUID()
	deliver := w.Proxy.HoldWatch(cluster.WatchOf(kit.HelmReleases.Resource))
	defer deliver()
	w.PatchHelmRelease("app", `{"spec":{"replaceImmutable":false}}`)
	w.Proxy.Reset()
	w.Patch(kit.ConfigMaps, "settings", `{"immutable":true,"data":{"key":"frozen"}}`)
	w.asksForHelmRelease(1)
	deliver()
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonRevertFailed, "with spec.replaceImmutable")
	check.Equal(t, w.Get(kit.ConfigMaps, "settings").GetUID(), before, "the object was replaced")
}

// asksForHelmRelease waits until the operator has read one HelmRelease a number of times.
func (w *fixture) asksForHelmRelease(times int) {
	w.Helper()
	w.Until("the operator reads the HelmRelease", func() (any, bool) {
		reads := slices.DeleteFunc(w.Proxy.Requests(), func(r cluster.Request) bool {
			return r.Resource() != kit.HelmReleases.Resource || r.Query.Get("fieldSelector") == "" ||
				r.Code != http.StatusOK
		})
		return reads, len(reads) >= times
	})
}
