package integration

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

func TestTracking_TwoHelmReleasesForOneRelease(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Forged("app", kit.ConfigMap("settings", "declared"))
	// Creation times have a resolution of one second; among equals the name decides, and "second" is after "app".
	w.CreateHelmRelease("second", func(hr *v1alpha1.HelmRelease) { hr.Spec.Release.Name = "app" })
	w.Says("second", v1alpha1.ConditionReady, v1alpha1.ReasonConflict, w.Operator+"/app", "created first")
	w.WaitReason("second", v1alpha1.ConditionStalled, v1alpha1.ReasonConflict)
	w.WaitReady("app", 1)
	w.Reverts("settings", "declared")
	before := w.Versions(w.Apps, kit.ConfigMaps)
	w.DeleteHelmRelease("app")
	w.WaitReady("second", 1)
	w.ExpectVersions(before, w.Apps, kit.ConfigMaps)
	w.Reverts("settings", "declared")
}

func TestTracking_OneObjectInTwoReleases(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Forged("first", kit.ConfigMap("common", "first")+kit.ConfigMap("of-first", "declared"))
	w.Forge(kit.ForgedRecord{Name: "second", Manifest: kit.ConfigMap("common", "second") +
		kit.ConfigMap("of-second", "declared")})
	w.CreateHelmRelease("second")
	w.Says("second", v1alpha1.ConditionReady, v1alpha1.ReasonConflict, w.Apps+"/common", w.Operator+"/first")
	w.WaitField(kit.ConfigMaps, "of-second", "data.key", "declared")
	w.Reverts("of-second", "declared")
	w.Reverts("common", "first")
	w.WaitReady("first", 1)

	w.DeleteHelmRelease("first")
	c := w.Condition("second", v1alpha1.ConditionReady)
	w.Until("second has taken notice", func() (any, bool) {
		c = w.Condition("second", v1alpha1.ConditionReady)
		return fmt.Sprintf("Ready is %s/%s: %s", c.Status, c.Reason, c.Message), !strings.Contains(c.Message, w.Operator+"/first")
	})
	t.Logf("without the first HelmRelease: Ready is %s/%s: %s", c.Status, c.Reason, c.Message)
	// The object carries the other release's name, whose record is deployed and declares it: it may not be changed.
	w.ExpectKey("common", "first")
	w.Helm(kit.Shared.Helm3(), "uninstall", "first")
	w.WaitField(kit.ConfigMaps, "common", "data.key", "second")
	w.WaitReady("second", 1)
}

// Another release takes an object over while its record still has the status pending-install: that write is Helm's,
// too.
func TestI1_AnotherReleaseTakesOwnership(t *testing.T) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		w.Installed(helm, "first", kit.ConfigMap("common", "first"))
		history := w.Record(kit.ConfigMaps)
		args := []string{"install", "second", w.Chart("second", kit.ConfigMap("common", "second")), "--take-ownership"}
		if helm.Name == "helm 4" {
			args = append(args, "--force-conflicts")
		}
		// Its record stays pending-install until the operator has had the time to act.
		helm, between := w.HelmThrough(helm)
		var installing sync.WaitGroup
		defer installing.Wait() // also when the test fails, after what is held has been let go
		hold := between.HoldRequests(cluster.ForPath("/secrets/sh.helm.release.v1.second.v1", http.MethodPut))
		defer hold.Release()
		installing.Go(func() {
			_, err := helm.Run(w.Ctx, append(args, "--namespace", w.Apps)...)
			check.Report(t, err)
		})
		check.NoError(t, hold.Wait(w.Ctx, 1))
		w.Says("first", v1alpha1.ConditionReady, v1alpha1.ReasonConflict, w.Apps+"/second")
		w.PassFence()
		w.ExpectKey("common", "second")
		hold.Release()
		installing.Wait()
		w.PassFence()
		history.CatchUp()
		taken := false
		for _, u := range history.States(kit.ConfigMaps, "common") {
			key := kit.Field(u, "data.key")
			if taken && key != "second" {
				t.Errorf("Helm's write was undone: %v", u.Object)
			}
			taken = taken || key == "second"
		}
		w.ExpectKey("common", "second")
		// A claim without a record is tampering.
		w.Patch(kit.ConfigMaps, "fence",
			`{"metadata":{"annotations":{"meta.helm.sh/release-name":"second"}},"data":{"key":"down"}}`)
		w.WaitField(kit.ConfigMaps, "fence", "data.key", "up")
	})
}

func TestTracking_OthersHelmReleasesAreLeftAlone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Forge(kit.ForgedRecord{Name: "claimed", Manifest: kit.ConfigMap("claimed", "declared")})
	w.Forge(kit.ForgedRecord{Name: "elsewhere", Manifest: kit.ConfigMap("elsewhere", "declared")})
	w.CreateHelmRelease("claimed", func(hr *v1alpha1.HelmRelease) {
		hr.Annotations = map[string]string{v1alpha1.ManagedByAnnotation: "another-controller"}
	})
	other := *w.Env
	other.Operator = w.Namespace("other-" + w.Operator)
	other.CreateHelmRelease("elsewhere")
	w.PassFence()
	for _, e := range []struct {
		env  *kit.Env
		name string
		by   string
	}{{w.Env, "claimed", "another-controller"}, {&other, "elsewhere", ""}} {
		hr := e.env.HelmRelease(e.name)
		if hr.Annotations[v1alpha1.ManagedByAnnotation] != e.by || len(hr.Status.Conditions) > 0 {
			t.Errorf("HelmRelease %s was written: %s", e.name, w.asJSON(hr))
		}
		check.That(t, w.Get(kit.ConfigMaps, e.name) == nil, "release %s was locked", e.name)
	}
	// The other controller lets go of it.
	w.PatchHelmRelease("claimed", `{"metadata":{"annotations":{"`+v1alpha1.ManagedByAnnotation+`":null}}}`)
	w.WaitReady("claimed", 1)
	check.Equal(t, w.HelmRelease("claimed").Annotations[v1alpha1.ManagedByAnnotation], w.Operator, "it is claimed by")
	// And another one takes a locked one over.
	w.PatchHelmRelease("claimed", `{"metadata":{"annotations":{"`+v1alpha1.ManagedByAnnotation+
		`":"another-controller"}}}`)
	w.WaitLog(w.Running, "no longer managing release "+w.Apps+"/claimed")
	w.staysUnlocked("claimed")
	check.Report(t, w.In(kit.HelmReleases, other.Operator).Delete(w.Ctx, "elsewhere", metav1.DeleteOptions{}))
}
