package order

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// Helm begins to work between a check of the operator and the following write, and reads the object before that write
// is applied. Helm does not write an object it finds as declared: no precondition fails, and the operator has to
// check again afterwards.

// failing is oneValue with a Service, written last by Helm, that the API server refuses with broken=true.
const failing = oneValue + `
---
apiVersion: v1
kind: Service
metadata: {name: app}
spec:
  selector: {app: app}
  ports: [{name: http, port: 80, protocol: {{ if .Values.broken }}NONE{{ else }}TCP{{ end }}}]
`

// upgradeFails upgrades to a value and expects Helm to fail after it has written the ConfigMaps.
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

// A change equals the next write of the upgrade under way. Helm finds nothing to do, and the revert of the change is
// applied after that.
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
			b.stays("two")
			history.CatchUp()
			check.Equal(t, fmt.Sprint(history.Past("app", valuePath)), "[one two one two]", "the values were")
		})
	}
}

// lateRevert changes the value of ConfigMap app, and delays its revert until helm has returned.
func (b *fixture) lateRevert(value string, helm func()) {
	b.Helper()
	b.Proxy.Reset()
	revert := b.Proxy.HoldRequests(isRevert("configmaps", http.MethodPatch))
	b.Patch(kit.ConfigMaps, "app", fmt.Sprintf(`{"data":{"value":%q}}`, value))
	b.WaitHeld(revert, 1)
	helm()
	revert.Release()
	// If Helm takes more than 5 seconds, the operator sends the revert again.
	b.Until("the revert has landed", func() (any, bool) {
		answered := func(r cluster.Request) bool { return r.Code == http.StatusOK }
		return b.writes(), slices.ContainsFunc(b.landed(), answered)
	})
}

// pendingWith returns a record of a next revision in which ConfigMap app has a value, and base its own.
func pendingWith(value string, revision int, status string) kit.ForgedRecord {
	object := func(name, value string) string {
		return fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {value: %s}\n", name, value)
	}
	return kit.ForgedRecord{Name: "app", Revision: revision, Status: status, Manifest: object("app", value) +
		object("base", "always")}
}

// Helm may work for long, and may be killed: the state it found has to be restored at once. Values that it would have
// written anyway are left to it.
func TestI1_LateRevertWhileHelmIsAtWork(t *testing.T) {
	for _, status := range []string{"pending-upgrade", "pending-rollback", "failed", "superseded"} {
		for tampered, want := range map[string]string{"two": "two", "neither": "one"} {
			t.Run(status+"/"+tampered, func(t *testing.T) {
				b := newFixture(t)
				b.installed(kit.Shared.Helm3(), oneValue, "one")
				b.lateRevert(tampered, func() { b.Forge(pendingWith("two", 2, status)) })
				b.waitValue("app", want)
				b.stays(want)
			})
		}
	}
}

// The write that corrects a late revert can be late itself.
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
	b.stays("one")
}

// The API server carries a revert out and the answer is lost, while Helm begins to work.
func TestI1_LateRevertWhoseAnswerIsLost(t *testing.T) {
	b := newFixture(t)
	b.installed(kit.Shared.Helm3(), oneValue, "one")
	b.Proxy.Reset()
	b.Proxy.On(isRevert("configmaps", http.MethodPatch).First(1), cluster.DropAnswer())
	revert := b.Proxy.HoldRequests(isRevert("configmaps", http.MethodPatch))
	b.Patch(kit.ConfigMaps, "app", `{"data":{"value":"two"}}`)
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
