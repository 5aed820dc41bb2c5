package order

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// Each write is proven by its own check, right after it, whatever happens to the lock.

// hooked is oneValue with a hook that runs before Helm touches objects, and fails with broken=true.
const hooked = oneValue + `
---
apiVersion: v1
kind: Service
metadata:
  name: hook
  annotations: {helm.sh/hook: pre-upgrade}
spec:
  selector: {app: app}
  ports: [{name: http, port: 80, protocol: {{ if .Values.broken }}NONE{{ else }}TCP{{ end }}}]
`

// checksAfter returns the number of checks after the last applied write.
func (b *fixture) checksAfter() (checks int) {
	for _, r := range b.Proxy.Requests() {
		switch {
		case kit.ProvesWrite(r, "app"):
			checks++
		case r.Resource() == "configmaps" && slices.Contains([]string{http.MethodPatch, http.MethodPost}, r.Method):
			checks = 0
		}
	}
	return checks
}

// lockEnds are the ways to end a lock without Helm.
var lockEnds = map[string]func(b *fixture){
	"locked": func(*fixture) {},
	"mode Detect": func(b *fixture) {
		b.PatchHelmRelease("app", `{"spec":{"mode":"Detect"}}`)
		b.WaitObserved("app")
	},
	"suspended": func(b *fixture) {
		b.PatchHelmRelease("app", `{"spec":{"suspend":true}}`)
		b.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonSuspended)
	},
	"in a window": func(b *fixture) {
		b.PatchHelmRelease("app", `{"spec":{"windows":[{"schedule":"* * * * *","duration":"1h"}]}}`)
		b.Until("the release is unlocked", func() (any, bool) {
			c := b.Condition("app", v1alpha1.ConditionLocked)
			return c, c.Status == metav1.ConditionFalse
		})
	},
	"HelmRelease deleted": func(b *fixture) { b.DeleteHelmRelease("app") },
}

// The lock ends while a revert is under way.
func TestI1_EveryRevertIsProvenAtOnce(t *testing.T) {
	for name, end := range lockEnds {
		t.Run(name, func(t *testing.T) {
			b := newFixture(t)
			b.installed(kit.Shared.Helm3(), oneValue, "one")
			b.Proxy.Reset()
			answer := b.Proxy.HoldAnswers(isRevert("configmaps", http.MethodPatch))
			b.Patch(kit.ConfigMaps, "app", `{"data":{"value":"two"}}`)
			b.WaitHeld(answer, 1)
			end(b)
			answer.Release()
			b.Until("the record was read after the write", func() (any, bool) {
				return b.Proxy.Requests(), b.checksAfter() > 0
			})
			b.wantValue("app", "one")
		})
	}
}

// A change was reverted, and later Helm begins an upgrade with the same change, and fails before it reaches the
// object.
func TestHostile_UpgradeToADriftThatWasReverted(t *testing.T) {
	for name, end := range lockEnds {
		t.Run(name, func(t *testing.T) {
			b := newFixture(t)
			chart := b.installed(kit.Shared.Helm3(), hooked, "one")
			b.Proxy.Reset()
			b.Patch(kit.ConfigMaps, "app", `{"data":{"value":"two"}}`)
			b.waitValue("app", "one")
			b.Until("the revert is proven", func() (any, bool) { return b.Proxy.Requests(), b.checksAfter() > 0 })
			end(b)
			b.Proxy.Reset()
			b.hookFails(chart, "two")
			b.stays("one")
			b.wantNoWrites()
		})
	}
}

// hookFails upgrades to a value and expects Helm to fail in the hook before it touches objects.
func (b *fixture) hookFails(chart, value string) {
	b.Helper()
	out, err := kit.Shared.Helm3().Run(b.Ctx, "upgrade", "app", chart, "--set", "broken=true,value="+value,
		"--namespace", b.Apps)
	if err == nil || !strings.Contains(out+err.Error(), "pre-upgrade hooks failed") {
		b.Fatalf("the upgrade did not fail in the hook: %v: %s", err, out)
	}
}

// Helm begins to work between the check and the write, and fails before it reaches the objects: nothing of its
// revision is deployed.
func TestHostile_UpgradeThatFailsBeforeItsObjectsAroundAWrite(t *testing.T) {
	for name, value := range map[string]string{"changed": "two", "dropped": "gone"} {
		t.Run("revert/"+name, func(t *testing.T) {
			b := newFixture(t)
			chart := b.installed(kit.Shared.Helm3(), hooked, "one")
			b.lateRevert("two", func() { b.hookFails(chart, value) })
			b.waitValue("app", "one")
			b.stays("one")
		})
		t.Run("creation/"+name, func(t *testing.T) {
			b := newFixture(t)
			chart := b.installed(kit.Shared.Helm3(), hooked, "one")
			creation := b.heldCreation()
			b.hookFails(chart, value)
			creation.Release()
			b.waitValue("app", "one")
			b.stays("one")
		})
	}
}

// withHook returns the payload of a record with a pre-upgrade hook in a phase.
func withHook(b *fixture, r kit.ForgedRecord, phase string) kit.ForgedRecord {
	b.Helper()
	text, err := json.Marshal(map[string]any{
		"name": r.Name, "namespace": b.Apps, "version": r.Revision, "manifest": r.Manifest,
		"info":  map[string]any{"status": r.Status},
		"hooks": []any{map[string]any{"events": []string{"pre-upgrade"}, "last_run": map[string]any{"phase": phase}}},
	})
	check.NoError(b, err)
	r.Payload, err = kit.EncodePayload(text)
	check.NoError(b, err)
	return r
}

// While a hook may be running, Helm may not have reached the object, and the operator leaves the object to Helm. When
// Helm has failed after it, the state it found is restored.
func TestI1_LateRevertWhileAHookRuns(t *testing.T) {
	for status, want := range map[string]string{"Failed": "one", "Succeeded": "two"} {
		t.Run(status, func(t *testing.T) {
			b := newFixture(t)
			b.installed(kit.Shared.Helm3(), oneValue, "one")
			record := pendingWith("two", 2, "pending-upgrade")
			b.lateRevert("two", func() { b.Forge(withHook(b, record, "Running")) })
			b.stays("one")
			record.Status = "failed"
			b.Forge(withHook(b, record, status))
			b.WaitState("app", v1alpha1.StateFailed)
			b.waitValue("app", want)
			b.stays(want)
		})
	}
}

// An operator that is stopped during a revert does not exit before the revert is proven.
func TestI1_StoppedBetweenARevertAndItsCheck(t *testing.T) {
	b := newFixture(t)
	b.installed(kit.Shared.Helm3(), oneValue, "one")
	answer := b.Proxy.HoldAnswers(isRevert("configmaps", http.MethodPatch))
	revert := b.Proxy.HoldRequests(isRevert("configmaps", http.MethodPatch))
	b.Patch(kit.ConfigMaps, "app", `{"data":{"value":"two"}}`)
	b.WaitHeld(revert, 1)
	b.Forge(pendingWith("two", 2, "pending-upgrade"))
	revert.Release()
	b.WaitHeld(answer, 1)
	b.StopWhileHeld(b.Running, b.Proxy, answer)
	b.wantValue("app", "two")
}

// A deletion that is refused now may be allowed later.
func TestI1_TakeBackThatIsRefused(t *testing.T) {
	b := newFixture(t)
	b.installed(kit.Shared.Helm3(), oneValue, "one")
	creation := b.heldCreation()
	var refused atomic.Int32
	permit := b.Proxy.Intercept(func(r *http.Request) cluster.Action {
		if isRevert("configmaps", http.MethodDelete)(r) {
			refused.Add(1)
			return cluster.Fail(http.StatusForbidden, "not today")
		}
		return cluster.Forward()
	})
	b.Forge(kit.ForgedRecord{Name: "app", Status: "uninstalling", Manifest: kit.ConfigMap("app", "one")})
	creation.Release()
	b.WaitEvent("app", v1alpha1.EventReasonOvertaken)
	permit()
	b.Forge(kit.ForgedRecord{Name: "app", Status: "uninstalled", Manifest: kit.ConfigMap("app", "one")})
	b.Until("it is taken back", func() (any, bool) {
		return fmt.Sprint(refused.Load(), b.writes()), b.Get(kit.ConfigMaps, "app") == nil
	})
}

// The check after a revert keeps nothing from being reverted: not another object of the release, nor the same one.
func TestI1_TheCheckAfterARevertHoldsNothingUp(t *testing.T) {
	b := newFixture(t)
	b.refuseFences()
	b.installed(kit.Shared.Helm3(), oneValue, "one")
	b.Proxy.Reset()
	answer := b.Proxy.HoldAnswers(isRevert("configmaps", http.MethodPatch))
	b.Patch(kit.ConfigMaps, "app", `{"data":{"value":"two"}}`)
	b.WaitHeld(answer, 1)
	after := b.Proxy.HoldRequests(isCheck)
	answer.Release()
	b.WaitHeld(after, 1)
	began := time.Now()
	b.Until("the drift is completed before its check is", func() (any, bool) {
		recent := b.HelmRelease("app").Status.RecentDrift
		return recent, len(recent) > 0 && recent[0].Action == v1alpha1.DriftActionReverted
	})
	t.Logf("completed %s after the write, while the check was held", time.Since(began))
	after.Release()
	b.Patch(kit.ConfigMaps, "app", `{"data":{"value":"three"}}`)
	b.waitValue("app", "one")
}
