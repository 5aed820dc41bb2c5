package integration

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// versioned is a chart of which every revision differs, and which fails to be applied when it is told to.
const versioned = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {key: "{{ .Values.key }}"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: constant}
data: {key: declared}
{{- if .Values.broken }}` + kit.RefusedService + "{{ end }}\n"

// A release's life from before its first day to its second.
func TestTracking_LifeOfARelease(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		w.LockFence()
		chart := w.Chart("app", versioned)
		locked := func(key string, revision int) {
			t.Helper()
			w.WaitReady("app", revision)
			w.ExpectKey("settings", key)
			w.Reverts("settings", key)
		}

		w.CreateHelmRelease("app")
		w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonSecretNotFound, "locked as soon as Helm has installed it")
		w.WaitState("app", v1alpha1.StateSecretNotFound)

		w.Helm(helm, "install", "app", chart, "--set", "key=one")
		locked("one", 1)
		w.Helm(helm, "upgrade", "app", chart, "--set", "key=two")
		locked("two", 2)
		if hr := w.HelmRelease("app"); hr.Status.State != v1alpha1.StateDeployed || hr.Status.Version != 2 ||
			!strings.Contains(hr.Status.Description, "complete") {
			t.Errorf("status is %s", w.asJSON(hr.Status))
		}
		w.Helm(helm, "rollback", "app", "1")
		locked("one", 3)

		if _, err := helm.Run(w.Ctx, "upgrade", "app", chart, "--namespace", w.Apps, "--set",
			"key=four,broken=true"); err == nil {
			t.Fatal("the upgrade was to fail")
		}
		w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonNotDeployed, "revision 4", "failed")
		w.WaitReason("app", v1alpha1.ConditionStalled, v1alpha1.ReasonNotDeployed)
		w.WaitState("app", v1alpha1.StateFailed)
		w.staysUnlocked("constant")
		w.Patch(kit.ConfigMaps, "constant", `{"data":{"key":"declared"}}`) // or Helm 4 refuses to upgrade: a conflict
		w.Helm(helm, "upgrade", "app", chart, "--set", "key=five", "--history-max", "1")
		locked("five", 5)
		w.Helm(helm, "upgrade", "app", chart, "--set", "key=six", "--history-max", "1")
		locked("six", 6)

		w.Helm(helm, "uninstall", "app", "--keep-history")
		w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonNotDeployed, "uninstalled")
		w.WaitState("app", v1alpha1.StateUninstalled)
		w.PassFence()
		if w.Get(kit.ConfigMaps, "settings") != nil {
			t.Error("what was uninstalled was created again")
		}
		w.Helm(helm, "rollback", "app", "6")
		locked("six", 7)
		w.Helm(helm, "uninstall", "app")
		w.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonSecretNotFound)
		w.WaitState("app", v1alpha1.StateSecretNotFound)
		w.Helm(helm, "install", "app", chart, "--set", "key=again")
		locked("again", 1)
	})
}

// staysUnlocked edits a ConfigMap and fails the test if that is reverted.
func (w *fixture) staysUnlocked(name string) {
	w.Helper()
	w.edits++
	edited := "edited " + strconv.Itoa(w.edits)
	w.Patch(kit.ConfigMaps, name, fmt.Sprintf(`{"data":{"key":%q}}`, edited))
	w.PassFence()
	w.ExpectKey(name, edited)
}

// That it is reported as stuck after a quarter of an hour is left to the tests of pkg/lock, whose clock can be set:
// the time counts from the creation of the record at least, which the API server dates.
func TestTracking_InterruptedUpgrade(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.LockFence()
	w.Forge(kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("settings", "one")})
	w.Lock("app")
	pending := kit.ForgedRecord{Name: "app", Revision: 2, Status: "pending-upgrade",
		Manifest: kit.ConfigMap("settings", "two")}
	// A label that is older than the Secret was copied from the revision before.
	pending.Labels = map[string]string{"createdAt": "", "modifiedAt": strconv.FormatInt(time.Now().Unix()-3600, 10)}
	record := w.Forge(pending)
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonTransitioning, "pending-upgrade", "unlocked while Helm works")
	w.WaitReason("app", v1alpha1.ConditionReconciling, v1alpha1.ReasonTransitioning)
	w.WaitState("app", v1alpha1.StateTransitioning)
	if at := w.HelmRelease("app").Status.TransitioningSince; at == nil || !at.Time.Equal(record.GetCreationTimestamp().Time) {
		t.Errorf("transitioningSince is %v, want %s", at, record.GetCreationTimestamp())
	}
	w.staysUnlocked("settings")

	w.Helm(kit.Shared.Helm3(), "rollback", "app", "1")
	w.WaitReady("app", 3)
	w.Reverts("settings", "one")
	if at := w.HelmRelease("app").Status.TransitioningSince; at != nil {
		t.Errorf("transitioningSince still is %v", at)
	}
}

func TestTracking_TwoHelmReleasesForOneRelease(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Forge(kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("settings", "declared")})
	w.Lock("app")
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
	w.Forge(kit.ForgedRecord{Name: "first", Manifest: kit.ConfigMap("common", "first") + kit.ConfigMap("of-first", "declared")})
	w.Lock("first")
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
	// The object carries the other release's name, whose record is deployed and declares it: it is not ours to change.
	w.ExpectKey("common", "first")
	w.Helm(kit.Shared.Helm3(), "uninstall", "first")
	w.WaitField(kit.ConfigMaps, "common", "data.key", "second")
	w.WaitReady("second", 1)
}

// Another release takes an object over while its record still says pending-install: that write is Helm's, too.
func TestI1_AnotherReleaseTakesOwnership(t *testing.T) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		w.LockFence()
		w.Installed(helm, "first", kit.ConfigMap("common", "first"))
		history := w.Record(kit.ConfigMaps)
		args := []string{"install", "second", w.Chart("second", kit.ConfigMap("common", "second")), "--take-ownership"}
		if helm.Name == "helm 4" {
			args = append(args, "--force-conflicts")
		}
		// Its record says pending-install until the operator has had all the time to act.
		between, err := kit.Shared.StartProxy()
		check.NoError(t, err)
		defer func() {
			check.Report(t, between.Close())
		}()
		var installing sync.WaitGroup
		defer installing.Wait() // also when the test fails, after what is held has been let go
		hold := between.HoldRequests(func(r *http.Request) bool {
			return r.Method == http.MethodPut &&
				strings.HasSuffix(r.URL.Path, "/secrets/sh.helm.release.v1.second.v1")
		})
		defer hold.Release()
		if helm.Kubeconfig, err = kit.Shared.KubeconfigFor("between-"+w.Apps, between.RESTConfig()); err != nil {
			t.Fatal(err)
		}
		installing.Go(func() {
			if _, err := helm.Run(w.Ctx, append(args, "--namespace", w.Apps)...); err != nil {
				t.Error(err)
			}
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
		// A claim that no record backs is tampering.
		w.Patch(kit.ConfigMaps, "fence",
			`{"metadata":{"annotations":{"meta.helm.sh/release-name":"second"}},"data":{"key":"down"}}`)
		w.WaitField(kit.ConfigMaps, "fence", "data.key", "up")
	})
}

func TestTracking_DetectWritesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.LockFence()
	w.Helm(kit.Shared.Helm4(), "install", "app", w.Chart("app", five))
	w.CreateHelmRelease("app", func(hr *v1alpha1.HelmRelease) { hr.Spec.Mode = v1alpha1.ModeDetect })
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonDetectOnly)
	w.Proxy.Reset()
	w.Patch(kit.ConfigMaps, "edited", `{"data":{"key":"tampered"}}`)
	w.Delete(kit.ConfigMaps, "deleted")
	w.Until("two objects are drifted", func() (any, bool) {
		n := w.HelmRelease("app").Status.Objects
		return n, n.Drifted == 2
	})
	w.Says("app", v1alpha1.ConditionDrifted, v1alpha1.ReasonDriftDetected, "/edited", "data[key]", "tamperer",
		"/deleted")
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonDriftDetected)
	w.Says("app", v1alpha1.ConditionLocked, v1alpha1.ReasonDetectOnly)
	for _, d := range w.HelmRelease("app").Status.RecentDrift {
		if d.Action != v1alpha1.DriftActionReported || d.Duration != nil {
			t.Errorf("recent drift has %+v", d)
		}
	}
	w.PassFence()
	w.ExpectKey("edited", "tampered")
	w.ExpectNoWrites()

	w.Patch(kit.ConfigMaps, "edited", `{"data":{"key":"declared"}}`)
	w.Until("one object is drifted", func() (any, bool) {
		n := w.HelmRelease("app").Status.Objects
		return n, n.Drifted == 1
	})
	w.PatchHelmRelease("app", `{"spec":{"mode":"Enforce"}}`)
	w.waitFive()
	w.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonLocked)
}

func TestTracking_Suspend(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.LockFence()
	w.Forge(kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("settings", "declared")})
	w.Lock("app")
	w.PatchHelmRelease("app", `{"spec":{"suspend":true}}`)
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonSuspended)
	w.staysUnlocked("settings")
	w.PatchHelmRelease("app", `{"spec":{"suspend":false}}`)
	w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
	w.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonLocked)

	until := time.Now().Add(5 * time.Second).Truncate(time.Second)
	w.PatchHelmRelease("app", fmt.Sprintf(`{"spec":{"suspendUntil":%q}}`, until.UTC().Format(time.RFC3339)))
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonSuspended, until.UTC().Format(time.RFC3339))
	w.Patch(kit.ConfigMaps, "settings", `{"data":{"key":"edited"}}`)
	w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
	if now := time.Now(); now.Before(until) {
		t.Errorf("reverted at %s, suspended until %s", now, until)
	}
	w.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonLocked)
}

func TestTracking_OthersHelmReleasesAreLeftAlone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.LockFence()
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
		if w.Get(kit.ConfigMaps, e.name) != nil {
			t.Errorf("release %s was locked", e.name)
		}
	}
	// The other controller lets go of it.
	w.PatchHelmRelease("claimed", `{"metadata":{"annotations":{"`+v1alpha1.ManagedByAnnotation+`":null}}}`)
	w.WaitReady("claimed", 1)
	if by := w.HelmRelease("claimed").Annotations[v1alpha1.ManagedByAnnotation]; by != w.Operator {
		t.Errorf("it is claimed by %q", by)
	}
	// And another one takes a locked one over.
	w.PatchHelmRelease("claimed", `{"metadata":{"annotations":{"`+v1alpha1.ManagedByAnnotation+
		`":"another-controller"}}}`)
	w.Until("the operator has taken note", func() (any, bool) {
		return "its log does not say so", strings.Contains(w.Running.Log(), "no longer managing release "+w.Apps+"/claimed")
	})
	w.staysUnlocked("claimed")
	check.Report(t, w.In(kit.HelmReleases, other.Operator).Delete(w.Ctx, "elsewhere", metav1.DeleteOptions{}))
}
