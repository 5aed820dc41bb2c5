package order

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// Helm begins to work between a check of the operator and the write that follows, and reads the object before that
// write lands. What Helm finds as it wants it, it does not write: so no precondition tells, and the operator has to
// look again afterwards.

// failing is oneValue with a Service, which Helm writes last, that the API server refuses with broken=true.
const failing = oneValue + `
---
apiVersion: v1
kind: Service
metadata: {name: app}
spec:
  selector: {app: app}
  ports: [{name: http, port: 80, protocol: {{ if .Values.broken }}NONE{{ else }}TCP{{ end }}}]
`

// upgradeFails upgrades to a value and expects that Helm fails after it has written the ConfigMaps.
func (b *fixture) upgradeFails(h cluster.Helm, chart, value string) {
	b.Helper()
	args := []string{"upgrade", "app", chart, "--set", "broken=true,value=" + value, "--namespace", b.Apps}
	if h == kit.Shared.Helm4() {
		args = append(args, "--force-conflicts")
	}
	out, err := h.Run(b.Ctx, args...)
	if err == nil || !strings.Contains(out+err.Error(), "NONE") {
		b.Fatalf("the upgrade did not fail at the Service: %v: %s", err, out)
	}
}

// deletions returns how many objects of the release the operator deleted.
func (b *fixture) deletions() int {
	n := 0
	for _, w := range b.landed() {
		if w.Method == http.MethodDelete {
			n++
		}
	}
	return n
}

// An object is created again, and while the operator asks for the record once more an upgrade that fails takes the
// object over as it is.
func TestI1_RecreatedObjectThatAnUpgradeCountsOn(t *testing.T) {
	for at, match := range map[string]cluster.Match{
		"before the second check":            isCheck,
		"while its ownership is handed over": isRevert("configmaps", http.MethodPatch), // under Helm 4 only
	} {
		t.Run(at, func(t *testing.T) {
			withBoth(t, func(b *fixture, h cluster.Helm) {
				if strings.HasPrefix(at, "while") && h.Name == "helm 3" {
					b.Skip("nothing is handed over")
				}
				chart := b.installed(h, failing, "one")
				b.Proxy.Reset()
				creation := b.Proxy.HoldRequests(isRevert("configmaps", http.MethodPost))
				b.Delete(kit.ConfigMaps, "app")
				b.WaitHeld(creation, 1)
				hold := b.Proxy.HoldRequests(match)
				creation.Release()
				b.WaitHeld(hold, 1)
				b.upgradeFails(h, chart, "one")
				hold.Release()
				b.WaitState("app", v1alpha1.StateFailed)
				b.Throughout(quiet, "ConfigMap app is as Helm found it",
					func() error { return b.hasValue("app", "one") })
				if n := b.deletions(); n > 0 {
					b.Errorf("%d objects were deleted: %v", n, b.landed())
				}
			})
		})
	}
}

// The upgrade that begins declares the object with another value, and fails before it has written it, because the
// operator was faster.
func TestI1_RecreatedObjectBecomesAsTheFailedRevisionDeclaresIt(t *testing.T) {
	b := newFixture(t)
	b.installed(kit.Shared.Helm3(), oneValue, "one")
	b.Proxy.Reset()
	creation := b.Proxy.HoldRequests(isRevert("configmaps", http.MethodPost))
	b.Delete(kit.ConfigMaps, "app")
	b.WaitHeld(creation, 1)
	record := pendingWith("two", 2, "pending-upgrade")
	b.Forge(record)
	creation.Release()
	b.WaitState("app", v1alpha1.StateTransitioning)
	b.waitValue("app", "one")
	b.Throughout(quiet, "Helm may be about to write it", func() error { return b.hasValue("app", "one") })
	record.Status = "failed"
	b.Forge(record)
	b.waitValue("app", "two")
	if n := b.deletions(); n > 0 {
		b.Errorf("%d objects were deleted: %v", n, b.landed())
	}
}

// creates matches the creation of an object by its name, which only the body tells.
func creates(name string) cluster.Match {
	return func(r *http.Request) bool {
		if !isRevert("configmaps", http.MethodPost)(r) {
			return false
		}
		body, err := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		return err == nil && bytes.Contains(body, []byte(`"name":"`+name+`"`))
	}
}

// Whether an object that was created may stay is known without waiting for the other creations.
func TestI1_EachCreationIsConfirmedByItself(t *testing.T) {
	b := newFixture(t)
	b.Helm(kit.Shared.Helm3(), "install", "app", b.Chart("app", oneValue), "--set", "value=one")
	b.Delete(kit.ConfigMaps, "app")
	b.Delete(kit.ConfigMaps, "base")
	slow := b.Proxy.HoldRequests(creates("base"))
	defer slow.Release()
	creation := b.Proxy.HoldRequests(creates("app"))
	b.Proxy.Reset()
	b.CreateHelmRelease("app") // both are found missing at once
	b.WaitHeld(slow, 1)
	b.WaitHeld(creation, 1)
	b.Helm(kit.Shared.Helm3(), "uninstall", "app")
	creation.Release()
	b.waitTakenBack()
	slow.Release()
	b.Until("the other one is taken back, too", func() (any, bool) {
		return b.writes(), b.deletions() >= 2 && b.Get(kit.ConfigMaps, "base") == nil
	})
}

// The release is uninstalled and installed again, and Helm takes over what the operator is about to take back.
func TestI1_TakenBackWhileHelmInstallsAgain(t *testing.T) {
	b := newFixture(t)
	chart := b.installed(kit.Shared.Helm3(), failing, "one")
	b.Proxy.Reset()
	creation := b.Proxy.HoldRequests(isRevert("configmaps", http.MethodPost))
	b.Delete(kit.ConfigMaps, "app")
	b.WaitHeld(creation, 1)
	b.Helm(kit.Shared.Helm3(), "uninstall", "app")
	deletion := b.Proxy.HoldRequests(isRevert("configmaps", http.MethodDelete))
	creation.Release()
	b.WaitHeld(deletion, 1)
	out, err := kit.Shared.Helm3().Run(b.Ctx, "install", "app", chart, "--set", "value=one,broken=true", "--namespace",
		b.Apps)
	if err == nil || !strings.Contains(out+err.Error(), "NONE") {
		b.Fatalf("the installation did not fail at the Service: %v: %s", err, out)
	}
	b.wantValue("app", "one")
	deletion.Release()
	b.Eventually("it was deleted, and created again", func() error {
		landed := b.landed()
		if last := len(landed) - 1; b.deletions() == 0 || landed[last].Method != http.MethodPost ||
			landed[last].Code != http.StatusCreated {
			return fmt.Errorf("writes: %v", landed)
		}
		return b.hasValue("app", "one")
	})
	b.Throughout(quiet, "ConfigMap app is there", func() error { return b.hasValue("app", "one") })
}

// There are two reasons to confirm a creation at a time: its own second check, and a record that changed. Of two
// deletions neither would know whether it took what Helm has made meanwhile.
func TestI1_TakenBackByOneDeletion(t *testing.T) {
	b := newFixture(t)
	b.installed(kit.Shared.Helm3(), failing, "one")
	b.Proxy.Reset()
	creation := b.Proxy.HoldRequests(isRevert("configmaps", http.MethodPost))
	b.Delete(kit.ConfigMaps, "app")
	b.WaitHeld(creation, 1)
	b.Helm(kit.Shared.Helm3(), "uninstall", "app")
	checks := b.Proxy.HoldRequests(isCheck)
	deletion := b.Proxy.HoldRequests(isRevert("configmaps", http.MethodDelete))
	creation.Release()
	b.WaitHeld(checks, 1)
	b.Forge(kit.ForgedRecord{Name: "app", Status: "uninstalled", Manifest: kit.ConfigMap("app", "one")})
	b.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonNotDeployed)
	checks.Release()
	b.WaitHeld(deletion, 1)
	b.Throughout(quiet, "one deletion is under way", func() error {
		if n := deletion.Arrived(); n != 1 {
			return fmt.Errorf("there are %d", n)
		}
		return nil
	})
	deletion.Release()
	b.WaitEvent("app", v1alpha1.EventReasonOvertaken)
}

// With objects of these kinds goes what others have put there.
func TestI1_WhatHoldsDataIsNeverTakenBack(t *testing.T) {
	b := newFixture(t)
	const claim = "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n" +
		"spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}\n"
	b.Helm(kit.Shared.Helm3(), "install", "app", b.Chart("app", oneValue+claim), "--set", "value=one")
	b.Lock("app")
	b.Proxy.Reset()
	creation := b.Proxy.HoldRequests(isRevert("persistentvolumeclaims", http.MethodPost))
	claims := kit.ConfigMaps
	claims.Resource = "persistentvolumeclaims"
	b.tamper(claims, "data", types.MergePatchType, `{"metadata":{"finalizers":null}}`)
	b.Delete(claims, "data")
	b.WaitHeld(creation, 1)
	b.Helm(kit.Shared.Helm3(), "uninstall", "app")
	creation.Release()
	b.WaitEvent("app", v1alpha1.EventReasonOvertaken)
	if b.Get(claims, "data") == nil || b.deletions() > 0 {
		t.Error("the claim was deleted")
	}
}

// A change is what the upgrade under way is about to write. Helm finds nothing to do, and the revert of the change
// lands after that.
func TestI1_RevertThatLandsAfterHelmFoundNothingToDo(t *testing.T) {
	for name, upgrade := range map[string]func(b *fixture, chart string){
		"upgrade": func(b *fixture, chart string) {
			b.Helm(kit.Shared.Helm3(), "upgrade", "app", chart, "--set", "value=two")
		},
		"upgrade that fails": func(b *fixture, chart string) {
			b.upgradeFails(kit.Shared.Helm3(), chart, "two")
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newFixture(t)
			chart := b.installed(kit.Shared.Helm3(), failing, "one")
			history := b.Record(kit.ConfigMaps)
			b.lateRevert("two", func() { upgrade(b, chart) })
			b.waitValue("app", "two")
			b.Throughout(quiet, "ConfigMap app is as Helm meant it", func() error { return b.hasValue("app", "two") })
			history.CatchUp()
			if got := fmt.Sprint(valuesOf(history, "app")); got != "[one two one two]" {
				t.Errorf("the values were %s", got)
			}
		})
	}
}

// lateRevert changes the value of ConfigMap app, and lets the revert of that land after helm has worked.
func (b *fixture) lateRevert(value string, helm func()) {
	b.Helper()
	b.Proxy.Reset()
	revert := b.Proxy.HoldRequests(isRevert("configmaps", http.MethodPatch))
	b.tamper(kit.ConfigMaps, "app", types.MergePatchType, fmt.Sprintf(`{"data":{"value":%q}}`, value))
	b.WaitHeld(revert, 1)
	helm()
	revert.Release()
	// What Helm takes more than 5 seconds for has the operator send the revert again.
	b.Until("the revert has landed", func() (any, bool) {
		answered := func(r cluster.Request) bool { return r.Code == http.StatusOK }
		return b.writes(), slices.ContainsFunc(b.landed(), answered)
	})
}

// pendingWith returns a record of a next revision in which ConfigMap app has a value, and base its own.
func pendingWith(value string, revision int, status string) kit.ForgedRecord {
	object := func(name, value string) string {
		return fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {value: %s}\n", name,
			value)
	}
	return kit.ForgedRecord{Name: "app", Revision: revision, Status: status, Manifest: object("app", value) +
		object("base", "always")}
}

// Helm may stay at work for long, and may be killed: what it found has to be there at once. What it would have
// written anyway is left to it.
func TestI1_LateRevertWhileHelmIsAtWork(t *testing.T) {
	for _, status := range []string{"pending-upgrade", "pending-rollback", "failed", "superseded"} {
		for tampered, want := range map[string]string{"two": "two", "neither": "one"} {
			t.Run(status+"/"+tampered, func(t *testing.T) {
				b := newFixture(t)
				b.installed(kit.Shared.Helm3(), oneValue, "one")
				b.lateRevert(tampered, func() { b.Forge(pendingWith("two", 2, status)) })
				b.waitValue("app", want)
				b.Throughout(quiet, "ConfigMap app is "+want, func() error { return b.hasValue("app", want) })
			})
		}
	}
}

// The write that makes a late revert good can come late itself.
func TestI1_AmendmentThatComesLate(t *testing.T) {
	b := newFixture(t)
	b.installed(kit.Shared.Helm3(), oneValue, "one")
	var next *cluster.Hold
	b.lateRevert("two", func() {
		b.Forge(pendingWith("two", 2, "failed"))
		next = b.Proxy.HoldRequests(isRevert("configmaps", http.MethodPatch)) // not the one that is held already
	})
	b.WaitHeld(next, 1)
	b.Forge(pendingWith("one", 3, "failed")) // Helm found one, and had nothing to do
	next.Release()
	b.Eventually("the amendment has landed, and was made good", func() error {
		if n := len(b.landed()); n < 3 {
			return fmt.Errorf("%d writes: %v", n, b.writes())
		}
		return b.hasValue("app", "one")
	})
	b.Throughout(quiet, "ConfigMap app is as the newest revision declares it",
		func() error { return b.hasValue("app", "one") })
}

// A record that cannot be read says nothing about what was created: it stays until the record can be read.
func TestI1_CreationBeforeARecordThatCannotBeRead(t *testing.T) {
	b := newFixture(t)
	b.installed(kit.Shared.Helm3(), oneValue, "one")
	b.Proxy.Reset()
	creation := b.Proxy.HoldRequests(isRevert("configmaps", http.MethodPost))
	b.Delete(kit.ConfigMaps, "app")
	b.WaitHeld(creation, 1)
	broken := pendingWith("one", 2, "pending-upgrade")
	broken.Payload = []byte("no payload")
	b.Forge(broken)
	creation.Release()
	b.waitValue("app", "one")
	b.Throughout(quiet, "it stays", func() error { return b.hasValue("app", "one") })
	// Other releases go on.
	b.Helm(kit.Shared.Helm3(), "install", "other", b.Chart("other",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\ndata: {value: other}\n"))
	b.Lock("other")
	b.tamper(kit.ConfigMaps, "other", types.MergePatchType, `{"data":{"value":"tampered"}}`)
	b.waitValue("other", "other")
	readable := kit.ForgedRecord{Name: "app", Revision: 2, Status: "pending-upgrade",
		Manifest: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: base}\n"}
	b.Forge(readable)
	b.waitTakenBack()
}

// The API server carries a revert out and the answer is lost, while Helm begins to work.
func TestI1_LateRevertWhoseAnswerIsLost(t *testing.T) {
	b := newFixture(t)
	b.installed(kit.Shared.Helm3(), oneValue, "one")
	b.Proxy.Reset()
	var lost atomic.Bool
	b.Proxy.Intercept(func(r *http.Request) cluster.Action {
		if !isRevert("configmaps", http.MethodPatch)(r) || lost.Swap(true) {
			return cluster.Forward()
		}
		return cluster.Action{After: func(*http.Response) error { return http.ErrAbortHandler }}
	})
	revert := b.Proxy.HoldRequests(isRevert("configmaps", http.MethodPatch))
	b.tamper(kit.ConfigMaps, "app", types.MergePatchType, `{"data":{"value":"two"}}`)
	b.WaitHeld(revert, 1)
	b.Forge(pendingWith("two", 2, "failed"))
	revert.Release()
	b.Eventually("the object is as the newest revision declares it", func() error {
		live := b.Get(kit.ConfigMaps, "app")
		if live == nil || len(b.writes()) < 2 {
			return errors.New("it was not written twice")
		}
		return b.hasValue("app", "two")
	})
}
