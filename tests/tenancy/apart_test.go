package tenancy

import (
	"fmt"
	"net/http"
	"path"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// I12: whatever one tenant's records, objects, webhooks or accounts do, drift in other namespaces is reverted. Here
// the attacker's answers never arrive, and the victim's objects are restored meanwhile; tests/cmd/bench measures the
// latency.

// attackers is how many releases an attacker has: as many as an operator could have workers.
const attackers = 8

// victim locks a release of one ConfigMap, called settings, in a new namespace, and returns its environment.
func (w *fixture) victim() *kit.Env {
	w.Helper()
	namespace := w.Namespace(w.Apps + "-victim")
	_, person := w.tenant(namespace)
	person.Forge(kit.ForgedRecord{Name: "victim", Manifest: kit.ConfigMap("settings", "declared") +
		kit.ConfigMap("more", "declared")})
	w.lockIn(namespace, "victim", "victim")
	w.WaitReady("victim", 1)
	return w.At(namespace)
}

// goesOn fails the test unless the victim's drift is reverted: a change, and a deletion.
func (w *fixture) goesOn(victim *kit.Env) {
	w.Helper()
	for i := range 5 {
		victim.Patch(kit.ConfigMaps, "settings", fmt.Sprintf(`{"data":{"key":"tampered %d"}}`, i))
		victim.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
	}
	old := victim.Get(kit.ConfigMaps, "more").GetUID()
	victim.Delete(kit.ConfigMaps, "more")
	victim.WaitNewObject(kit.ConfigMaps, "more", old)
}

// attack locks releases in Apps, deletes their only objects, and calls then when all of them were re-created and no
// answer to that has arrived: the operator learns of then's changes when it confirms the creations.
func (w *fixture) attack(then func(i int)) {
	w.Helper()
	_, person := w.tenant(w.Apps)
	for i := range attackers {
		name := fmt.Sprintf("attacker-%d", i)
		person.Forge(kit.ForgedRecord{Name: name, Manifest: kit.ConfigMap(name, "declared")})
		w.lockIn(w.Apps, name, name)
	}
	for i := range attackers {
		w.WaitReady(fmt.Sprintf("attacker-%d", i), 1)
	}
	hold := w.Proxy.HoldAnswers(func(r *http.Request) bool {
		return isWrite("configmaps", http.MethodPost)(r) && strings.Contains(r.URL.Path, "/namespaces/"+w.Apps+"/")
	})
	defer hold.Release()
	for i := range attackers {
		w.Delete(kit.ConfigMaps, fmt.Sprintf("attacker-%d", i))
	}
	check.NoError(w, hold.Wait(w.Ctx, attackers))
	for i := range attackers {
		then(i)
	}
	w.Proxy.Reset() // what is asked from now on are confirmations
}

// undecided returns when the operator has tried, for each of the attacker's releases, to confirm or to delete the
// re-created object.
func (w *fixture) undecided() {
	w.Helper()
	w.Eventually("all of the attacker's releases keep the operator busy", func() error {
		tried := map[string]bool{}
		for _, r := range w.Proxy.Requests() {
			switch {
			case r.Resource() == "secrets" && r.Code != 0:
				for _, part := range strings.Split(r.Query.Get("labelSelector"), ",") {
					tried[strings.TrimPrefix(part, "name=")] = true
				}
			case r.Resource() == "configmaps" && r.Method == http.MethodDelete && r.Code != 0:
				tried[path.Base(r.Path)] = true
			}
		}
		for i := range attackers {
			if name := fmt.Sprintf("attacker-%d", i); !tried[name] {
				return fmt.Errorf("%s does not", name)
			}
		}
		return nil
	})
}

// It is undecidable whether the created objects may stay: the newest record of each release is a Secret without a
// status.
func TestI12_MalformedRecordsHoldNobodyUp(t *testing.T) {
	t.Parallel()
	w := newFixture(t, byDefault)
	victim := w.victim()
	w.attack(func(i int) {
		w.Forge(kit.ForgedRecord{Name: fmt.Sprintf("attacker-%d", i), Revision: 2, Labels: map[string]string{"status": ""}})
	})
	w.undecided()
	w.goesOn(victim)
	// The question is asked again when there is something new, and not after a while: by now it would be a long one.
	for i := range attackers {
		w.Forge(kit.ForgedRecord{Name: fmt.Sprintf("attacker-%d", i), Revision: 2,
			Manifest: kit.ConfigMap(fmt.Sprintf("attacker-%d", i), "second")})
	}
	for i := range attackers {
		w.WaitField(kit.ConfigMaps, fmt.Sprintf("attacker-%d", i), "data.key", "second")
	}
}

// Objects name a release whose record cannot be read, or takes long to be read. They wait for it, delay no other
// objects, and it is read once for all of them.
func TestI12_RecordOfAnotherTenantIsWaitedForByThoseItIsAbout(t *testing.T) {
	t.Parallel()
	w := newFixture(t, byDefault)
	victim := w.victim()
	lair := w.Namespace(w.Apps + "-lair")
	_, person := w.tenant(lair)
	person.Forge(kit.ForgedRecord{Name: "big", Manifest: kit.ConfigMap("big", "x")})
	_, owner := w.tenant(w.Apps)
	for i := range attackers {
		name := fmt.Sprintf("claimed-%d", i)
		owner.Forge(kit.ForgedRecord{Name: name, Manifest: kit.ConfigMap(name, "declared") +
			kit.ConfigMap(name+"-too", "declared")})
		w.lockIn(w.Apps, name, name)
	}
	for i := range attackers {
		w.WaitReady(fmt.Sprintf("claimed-%d", i), 1)
	}
	reads := atomic.Int32{}
	hold := w.Proxy.HoldRequests(func(r *http.Request) bool {
		is := r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/namespaces/"+lair+
			"/secrets/sh.helm.release.v1.big.v1")
		if is {
			reads.Add(1)
		}
		return is
	})
	defer hold.Release()
	for i := range attackers {
		w.Patch(kit.ConfigMaps, fmt.Sprintf("claimed-%d", i), fmt.Sprintf(
			`{"metadata":{"annotations":{"meta.helm.sh/release-name":"big","meta.helm.sh/release-namespace":%q}},"data":{"key":"tampered"}}`, lair))
	}
	w.Eventually("all of them wait", func() error {
		for i := range attackers {
			if n := w.HelmRelease(fmt.Sprintf("claimed-%d", i)).Status.Objects.Drifted; n != 1 {
				return fmt.Errorf("release %d has %d drifted objects", i, n)
			}
		}
		return nil
	})
	w.goesOn(victim)
	for i := range attackers { // and so is everything else of their own releases
		w.Patch(kit.ConfigMaps, fmt.Sprintf("claimed-%d-too", i), `{"data":{"key":"tampered"}}`)
		w.WaitField(kit.ConfigMaps, fmt.Sprintf("claimed-%d-too", i), "data.key", "declared")
	}
	n := reads.Load()
	check.That(t, n == 1, "the record was read %d times", n)
	hold.Release()
	for i := range attackers {
		w.WaitField(kit.ConfigMaps, fmt.Sprintf("claimed-%d", i), "data.key", "declared")
	}
	n = reads.Load()
	check.That(t, n == 1, "the record was read %d times", n)
}
