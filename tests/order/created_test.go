package order

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

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

// An object is re-created, and during the operator's second check an upgrade takes the object over as it is, and
// fails.
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
				creation := b.heldCreation()
				hold := b.Proxy.HoldRequests(match)
				creation.Release()
				b.WaitHeld(hold, 1)
				b.upgradeFails(h, chart, "one")
				hold.Release()
				b.WaitState("app", v1alpha1.StateFailed)
				b.stays("one")
				if n := b.deletions(); n > 0 {
					b.Errorf("%d objects were deleted: %v", n, b.landed())
				}
			})
		})
	}
}

// The starting upgrade declares the object with another value, and fails before it reaches the object. No revision
// was deployed with that value, so the operator does not write it.
func TestI1_RecreatedObjectStaysWhenTheUpgradeFails(t *testing.T) {
	b := newFixture(t)
	b.installed(kit.Shared.Helm3(), oneValue, "one")
	creation := b.heldCreation()
	record := pendingWith("two", 2, "pending-upgrade")
	b.Forge(record)
	creation.Release()
	b.WaitState("app", v1alpha1.StateTransitioning)
	b.waitValue("app", "one")
	record.Status = "failed"
	b.Forge(record)
	b.WaitState("app", v1alpha1.StateFailed)
	b.stays("one")
	if n := b.deletions(); n > 0 {
		b.Errorf("%d objects were deleted: %v", n, b.landed())
	}
}

// creates matches the creation of an object by its name, found only in the body.
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

// A creation is confirmed without waiting for the other creations.
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

// The release is uninstalled and installed again, and Helm takes over an object that the operator is about to delete.
func TestI1_TakenBackWhileHelmInstallsAgain(t *testing.T) {
	b := newFixture(t)
	chart := b.installed(kit.Shared.Helm3(), failing, "one")
	creation := b.heldCreation()
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
	b.stays("one")
}

// Two causes confirm a creation at the same time: its own second check, and a changed record. With two deletions,
// neither would know whether it deleted an object created by Helm meanwhile.
func TestI1_TakenBackByOneDeletion(t *testing.T) {
	b := newFixture(t)
	b.installed(kit.Shared.Helm3(), failing, "one")
	creation := b.heldCreation()
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

// Deleting objects of these kinds would delete data of others.
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
	b.Patch(claims, "data", `{"metadata":{"finalizers":null}}`)
	b.Delete(claims, "data")
	b.WaitHeld(creation, 1)
	b.Helm(kit.Shared.Helm3(), "uninstall", "app")
	creation.Release()
	b.WaitEvent("app", v1alpha1.EventReasonOvertaken)
	check.That(t, b.Get(claims, "data") != nil && b.deletions() <= 0, "the claim was deleted")
}

// An unreadable record is no evidence about a created object: it stays until the record can be read.
func TestI1_CreationBeforeARecordThatCannotBeRead(t *testing.T) {
	b := newFixture(t)
	b.installed(kit.Shared.Helm3(), oneValue, "one")
	creation := b.heldCreation()
	broken := pendingWith("one", 2, "pending-upgrade")
	broken.Payload = []byte("no payload")
	b.Forge(broken)
	creation.Release()
	b.waitValue("app", "one")
	b.stays("one")
	// Other releases go on.
	b.Installed(kit.Shared.Helm3(), "other",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\ndata: {value: other}\n")
	b.Patch(kit.ConfigMaps, "other", `{"data":{"value":"tampered"}}`)
	b.waitValue("other", "other")
	readable := kit.ForgedRecord{Name: "app", Revision: 2, Status: "pending-upgrade",
		Manifest: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: base}\n"}
	b.Forge(readable)
	b.waitTakenBack()
}
