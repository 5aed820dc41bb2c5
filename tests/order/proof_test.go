package order

import (
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// Every test here forces one interleaving in which a part of the order proof decides, and tests/cmd/mutants removes
// each of these parts once. The release has a ConfigMap "app", removed by the value "gone", and a permanent one.
const oneValue = `
{{ if ne .Values.value "gone" }}
apiVersion: v1
kind: ConfigMap
metadata: {name: app}
data: {value: {{ .Values.value | quote }}}
{{ end }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: base}
data: {value: always}
`

const (
	valuePath = "data.value"
	quiet     = time.Second
)

// withBoth runs a case for both Helm versions, with records in Secrets and in ConfigMaps.
func withBoth(t *testing.T, test func(*fixture, cluster.Helm)) {
	for name, h := range kit.Helms(kit.Shared) {
		t.Run(name, func(t *testing.T) { test(newFixture(t), h) })
		t.Run(name+" in ConfigMaps", func(t *testing.T) {
			test(newFixtureOf(t, "secret,configmap"), inConfigMaps(h))
		})
	}
}

// The operator's view of the record is stale, so it takes Helm's write for drift. Its write would carry the
// resourceVersion of Helm's own write: only a read of the newest record shows the difference.
func TestI1_CheckBeforeWrite(t *testing.T) {
	withBoth(t, func(b *fixture, h cluster.Helm) {
		chart := b.installed(h, oneValue, "one")
		b.Proxy.Reset()
		release := b.Proxy.HoldWatch(isRecordWatch)
		b.Helm(h, "upgrade", "app", chart, "--set", "value=two")
		b.waitLists(2)
		b.wantValue("app", "two")
		b.wantNoWrites()
		release()
		b.WaitReady("app", 2)
		b.wantValue("app", "two")
		b.wantNoWrites()
	})
}

// The operator saw drift and found the record unchanged; then, before its write arrives, Helm upgrades.
func TestI1_ResourceVersionPrecondition(t *testing.T) {
	withBoth(t, func(b *fixture, h cluster.Helm) {
		chart := b.installed(h, oneValue, "one")
		history := b.Record(kit.ConfigMaps)
		b.Proxy.Reset()
		hold := b.Proxy.HoldRequests(isRevert("configmaps", http.MethodPatch))
		b.Patch(kit.ConfigMaps, "app", `{"data":{"value":"tampered"}}`)
		b.WaitHeld(hold, 1)
		args := []string{"upgrade", "app", chart, "--set", "value=two"}
		if h.Name == "helm 4" {
			args = append(args, "--force-conflicts") // the tamperer owns the value that Helm changes
		}
		b.Helm(h, args...)
		hold.Release()
		b.WaitReady("app", 2)
		b.Until("the held write is refused", func() (any, bool) {
			w := b.writes()
			return w, len(w) > 0 && w[0].Code == http.StatusConflict
		})
		b.stays("two")
		history.CatchUp()
		values := history.Past("app", valuePath)
		two := slices.Index(values, "two")
		check.That(b, two >= 0 && !slices.Contains(values[two:], "one"), "the values were %q", values)
		b.wantNoWrites()
	})
}

// removals are Helm's ways to remove ConfigMap app.
var removals = map[string]func(b *fixture, h cluster.Helm, chart string){
	"uninstall": func(b *fixture, h cluster.Helm, _ string) { b.Helm(h, "uninstall", "app") },
	"upgrade": func(b *fixture, h cluster.Helm, chart string) {
		b.Helm(h, "upgrade", "app", chart, "--set", "value=gone")
	},
}

// The operator saw drift and found the record unchanged; then, before its write arrives, Helm deletes the object. A
// server-side apply creates a missing object, even with a resourceVersion.
func TestI1_WriteAfterHelmDeleted(t *testing.T) {
	for name, helmRemoves := range removals {
		t.Run(name, func(t *testing.T) {
			withBoth(t, func(b *fixture, h cluster.Helm) {
				chart := b.installed(h, oneValue, "one")
				b.Proxy.Reset()
				hold := b.Proxy.HoldRequests(isRevert("configmaps", http.MethodPatch))
				b.Patch(kit.ConfigMaps, "app", `{"data":{"value":"tampered"}}`)
				b.WaitHeld(hold, 1)
				helmRemoves(b, h, chart)
				hold.Release()
				b.Eventually("the held write is refused", func() error {
					w := b.writes()
					// A write that is held for long, because Helm takes long, is sent again and is not the last one.
					refused := []int{http.StatusConflict, http.StatusNotFound}
					if len(w) == 0 || !slices.Contains(refused, w[len(w)-1].Code) {
						return fmt.Errorf("writes: %v", w)
					}
					return nil
				})
				if b.Get(kit.ConfigMaps, "app") != nil {
					b.Error("the object that Helm deleted is back")
				}
			})
		})
	}
}

// The operator saw that an object is missing and found the record unchanged; then, before its creation arrives, Helm
// removes the object for good and has no reason to read it again.
func TestI1_SecondCheckAfterCreate(t *testing.T) {
	for name, helmRemoves := range removals {
		t.Run(name, func(t *testing.T) {
			withBoth(t, func(b *fixture, h cluster.Helm) {
				chart := b.installed(h, oneValue, "one")
				hold := b.heldCreation()
				helmRemoves(b, h, chart)
				hold.Release()
				if name == "uninstall" {
					b.WaitState("app", v1alpha1.StateSecretNotFound)
				} else {
					b.WaitReady("app", 2)
				}
				b.waitTakenBack()
			})
		})
	}
}

// As above, and the API server does not answer the second check at first.
func TestI1_SecondCheckIsRepeatedUntilAnswered(t *testing.T) {
	for name, h := range kit.Helms(kit.Shared) {
		t.Run(name, func(t *testing.T) {
			b := newFixture(t)
			b.installed(h, oneValue, "one")
			hold := b.heldCreation()
			var refused atomic.Int32
			b.Proxy.Intercept(func(r *http.Request) cluster.Action {
				if isCheck(r) && refused.Add(1) <= 3 {
					return cluster.Fail(http.StatusInternalServerError, "on purpose")
				}
				return cluster.Forward()
			})
			b.Helm(h, "uninstall", "app")
			hold.Release()
			b.waitTakenBack()
			if n := refused.Load(); n < 4 {
				b.Errorf("the record was read %d times, want that it was read again after 3 failures", n)
			}
		})
	}
}

// As above, and a controller writes to the new object, as controllers do at once, before it is taken back.
func TestI1_TakenBackAlthoughAControllerTouchedIt(t *testing.T) {
	for name, h := range kit.Helms(kit.Shared) {
		t.Run(name, func(t *testing.T) {
			b := newFixture(t)
			b.installed(h, oneValue, "one")
			hold := b.heldCreation()
			second := b.Proxy.HoldRequests(isCheck)
			b.Helm(h, "uninstall", "app")
			hold.Release()
			b.WaitHeld(second, 1) // perhaps that of another object
			b.Until("the object is created", func() (any, bool) {
				return "it is not", b.Get(kit.ConfigMaps, "app") != nil
			})
			b.Patch(kit.ConfigMaps, "app", `{"metadata":{"annotations":{"controller/revision":"1"}}}`)
			second.Release()
			b.waitTakenBack()
		})
	}
}

// waitTakenBack waits until the operator has deleted the re-created object, and checks that it stays deleted.
func (b *fixture) waitTakenBack() {
	b.Helper()
	b.Eventually("the created object is taken back", func() error {
		landed := b.landed()
		last := len(landed) - 1
		if last < 0 || landed[0].Method != http.MethodPost || landed[last].Method != http.MethodDelete ||
			landed[last].Code != http.StatusOK {
			return fmt.Errorf("writes: %v", landed)
		}
		return nil
	})
	b.stays("")
}

// While the operator's view of the record is stale, the release is uninstalled and reinstalled with other content:
// again revision 1, again deployed.
func TestI1_RecordIdentityNotRevisionNumber(t *testing.T) {
	withBoth(t, func(b *fixture, h cluster.Helm) {
		chart := b.installed(h, oneValue, "one")
		b.Proxy.Reset()
		release := b.Proxy.HoldWatch(isRecordWatch)
		// The objects' events are held until the end, so that the operator's first request about them is the one with
		// the misleading answer.
		objects := b.Proxy.HoldWatch(func(r *http.Request) bool {
			return cluster.ForResource("configmaps")(r) && !isRecordWatch(r)
		})
		b.Helm(h, "uninstall", "app")
		b.Helm(h, "install", "app", chart, "--set", "value=two")
		objects()
		b.waitLists(2)
		b.wantValue("app", "two")
		b.wantNoWrites()
		release()
		b.WaitReady("app", 1)
		b.stays("two")
		b.wantNoWrites()
	})
}
