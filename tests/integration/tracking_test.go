package integration

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// versioned is a chart whose revisions all differ; it fails to be applied on request.
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

		_, err := helm.Run(w.Ctx, "upgrade", "app", chart, "--namespace", w.Apps, "--set", "key=four,broken=true")
		check.Must(t, err != nil, "the upgrade was to fail")
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
		check.That(t, w.Get(kit.ConfigMaps, "settings") == nil, "what was uninstalled was created again")
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

// The report of a stuck upgrade after a quarter of an hour is tested in pkg/lock with a fake clock: the time counts
// at least from the creation of the record, whose timestamp the API server sets.
func TestTracking_InterruptedUpgrade(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Forged("app", kit.ConfigMap("settings", "one"))
	pending := kit.ForgedRecord{Name: "app", Revision: 2, Status: "pending-upgrade",
		Manifest: kit.ConfigMap("settings", "two")}
	// A label older than the Secret was copied from the previous revision.
	pending.Labels = map[string]string{"createdAt": "", "modifiedAt": strconv.FormatInt(time.Now().Unix()-3600, 10)}
	record := w.Forge(pending)
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonTransitioning, "pending-upgrade", "unlocked while Helm works")
	w.WaitReason("app", v1alpha1.ConditionReconciling, v1alpha1.ReasonTransitioning)
	w.WaitState("app", v1alpha1.StateTransitioning)
	at := w.HelmRelease("app").Status.TransitioningSince
	check.That(t, at != nil && at.Time.Equal(record.GetCreationTimestamp().Time), "transitioningSince is %v, want %s",
		at, record.GetCreationTimestamp())
	w.staysUnlocked("settings")

	w.Helm(kit.Shared.Helm3(), "rollback", "app", "1")
	w.WaitReady("app", 3)
	w.Reverts("settings", "one")
	at = w.HelmRelease("app").Status.TransitioningSince
	check.That(t, at == nil, "transitioningSince still is %v", at)
}

func TestTracking_DetectWritesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Helm(kit.Shared.Helm4(), "install", "app", w.Chart("app", five))
	w.CreateHelmRelease("app", func(hr *v1alpha1.HelmRelease) { hr.Spec.Mode = v1alpha1.ModeDetect })
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonDetectOnly)
	w.Proxy.Reset()
	w.Patch(kit.ConfigMaps, "edited", `{"data":{"key":"tampered"}}`)
	w.Delete(kit.ConfigMaps, "deleted")
	w.WaitFieldIn(kit.HelmReleases, w.Operator, "app", "status.objects.drifted", int64(2))
	w.Says("app", v1alpha1.ConditionDrifted, v1alpha1.ReasonDriftDetected, "/edited", "data[key]", "tamperer", "/deleted")
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonDriftDetected)
	w.Says("app", v1alpha1.ConditionLocked, v1alpha1.ReasonDetectOnly)
	for _, d := range w.HelmRelease("app").Status.RecentDrift {
		check.That(t, d.Action == v1alpha1.DriftActionReported && d.Duration == nil, "recent drift has %+v", d)
	}
	w.PassFence()
	w.ExpectKey("edited", "tampered")
	w.ExpectNoWrites()

	// The declared value does not end the drift: Helm's next apply would conflict with its owner.
	w.Patch(kit.ConfigMaps, "edited", `{"data":{"key":"declared"}}`)
	w.Says("app", v1alpha1.ConditionDrifted, v1alpha1.ReasonDriftDetected, "/edited", "data[key] owned", "tamperer")
	w.PatchHelmRelease("app", `{"spec":{"mode":"Enforce"}}`)
	w.waitFive()
	w.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonLocked)
}

func TestTracking_Suspend(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Forged("app", kit.ConfigMap("settings", "declared"))
	w.PatchHelmRelease("app", `{"spec":{"suspend":true}}`)
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonSuspended)
	w.staysUnlocked("settings")
	w.PatchHelmRelease("app", `{"spec":{"suspend":false}}`)
	w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
	w.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonLocked)
}
