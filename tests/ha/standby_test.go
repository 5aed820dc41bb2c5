package ha

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// heldElsewhere gives the lease of the operators to another holder for an hour: starting operators are standbys. The
// returned function ends that.
func heldElsewhere(e *kit.Env) (giveUp func()) {
	e.Helper()
	holder, seconds, now := "somewhere else", int32(3600), metav1.NewMicroTime(time.Now())
	leases := e.Kube.CoordinationV1().Leases(e.Operator)
	held, err := leases.Create(e.Ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: e.Operator},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &now,
			AcquireTime: &now},
	}, metav1.CreateOptions{})
	check.NoError(e, err)
	return func() {
		e.Helper()
		nobody := ""
		held.Spec.HolderIdentity = &nobody
		_, err := leases.Update(e.Ctx, held, metav1.UpdateOptions{})
		check.NoError(e, err)
	}
}

// A standby judges events, to be able to continue at once. It makes one dry run for each judged object, whatever else
// happens to the release.
func TestHA_StandbyAsksNothingTwice(t *testing.T) {
	t.Parallel()
	e := kit.New(t, kit.Shared)
	giveUp := heldElsewhere(e)
	standby := startReplica(e, elected(shortLease))
	standby.proxy.Intercept(func(r *http.Request) cluster.Action {
		if r.URL.Query().Has("dryRun") { // so that it is never known whether it is drift
			return cluster.Fail(http.StatusInternalServerError, "on purpose")
		}
		return cluster.Forward()
	})
	e.Forge(kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("first", "declared") +
		kit.ConfigMap("second", "declared")})
	for _, name := range []string{"first", "second"} {
		labels := map[string]string{manifest.ManagedByLabel: manifest.ManagedByHelm}
		before := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
			Data: map[string]string{"key": "before the lock"}}
		_, err := e.Kube.CoreV1().ConfigMaps(e.Apps).Create(e.Ctx, before, metav1.CreateOptions{})
		check.NoError(t, err)
	}
	asked := func(name string) (n int) {
		for _, r := range standby.proxy.Requests() {
			if r.Method == http.MethodPatch && r.Query.Has("dryRun") && strings.HasSuffix(r.Path, "/configmaps/"+name) {
				n++
			}
		}
		return n
	}
	waitAsked := func(name string, times int) {
		t.Helper()
		e.Until(fmt.Sprintf("the standby asks about %s for the %d. time", name, times), func() (any, bool) {
			n := asked(name)
			return n, n >= times
		})
	}
	e.CreateHelmRelease("app", func(hr *v1alpha1.HelmRelease) {
		hr.Annotations = map[string]string{v1alpha1.ManagedByAnnotation: e.Operator} // a standby claims nothing
	})
	waitAsked("first", 1)
	waitAsked("second", 1)
	const changes = 10
	for i := range changes {
		e.Patch(kit.ConfigMaps, "second", fmt.Sprintf(`{"data":{"key":"tampered %d"}}`, i))
		waitAsked("second", 2+i)
	}
	// An event without a change of content.
	e.Patch(kit.ConfigMaps, "first", `{"metadata":{"generation":5}}`)
	e.Patch(kit.ConfigMaps, "second", `{"data":{"key":"the last one"}}`)
	waitAsked("second", 2+changes)
	first, second := asked("first"), asked("second")
	check.That(t, first == 1 && second == 2+changes,
		"it asked %d times about an object that stayed the same, and %d times about one that changed %d times", first, second,
		1+changes)
	for _, r := range standby.proxy.Writes() {
		if r.Resource() != "leases" && !r.Query.Has("dryRun") {
			t.Errorf("the standby wrote: %s", r)
		}
	}
	giveUp()
	for _, name := range []string{"first", "second"} {
		e.WaitField(kit.ConfigMaps, name, "data.key", "declared")
	}
	e.WaitReady("app", 1)
}
