package tenancy

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// A created object has to be deleted, as its release no longer exists, and an unreachable webhook prevents the
// deletion.
func TestI12_UnreachableWebhooksHoldNobodyUp(t *testing.T) {
	t.Parallel()
	w := newFixture(t, byDefault)
	victim := w.victim()
	nowhere := "https://127.0.0.1:1/"
	w.attack(func(i int) {
		if i == 0 {
			w.ValidatingWebhook(admissionv1.Delete, "configmaps", admissionv1.WebhookClientConfig{URL: &nowhere})
		}
		name := fmt.Sprintf("sh.helm.release.v1.attacker-%d.v1", i)
		check.NoError(w, w.Kube.CoreV1().Secrets(w.Apps).Delete(w.Ctx, name, metav1.DeleteOptions{}))
	})
	w.undecided()
	w.goesOn(victim)
}

// held keeps the writes to ConfigMaps of namespaces from the API server, as webhooks without an answer do. It counts
// them, and those that were given up.
func (w *fixture) held(namespaces ...string) (hold *cluster.Hold, count, givenUp *atomic.Int32) {
	w.Helper()
	count, givenUp = &atomic.Int32{}, &atomic.Int32{}
	for _, namespace := range namespaces {
		check.NoError(w, w.Cluster.Except("I5", namespace, "the reverts are held up until the end"))
	}
	hold = w.Proxy.HoldRequests(func(r *http.Request) bool {
		for _, namespace := range namespaces {
			if isWrite("configmaps", http.MethodPatch)(r) &&
				strings.Contains(r.URL.Path, "/namespaces/"+namespace+"/") {
				count.Add(1)
				context.AfterFunc(r.Context(), func() { givenUp.Add(1) })
				return true
			}
		}
		return false
	})
	w.Cleanup(hold.Release)
	return hold, count, givenUp
}

// tampered locks releases of many ConfigMaps in a namespace and returns a function that makes all of them drift.
func (w *fixture) tampered(namespace string, releases, each int) (tamper func()) {
	w.Helper()
	_, person := w.tenant(namespace)
	name := func(i, k int) string { return fmt.Sprintf("object-%d-%d", i, k) }
	for i := range releases {
		manifest := ""
		for k := range each {
			manifest += kit.ConfigMap(name(i, k), "declared")
		}
		release := fmt.Sprintf("many-%d", i)
		person.Forge(kit.ForgedRecord{Name: release, Manifest: manifest})
		w.lockIn(namespace, namespace+"-"+release, release)
	}
	for i := range releases {
		w.WaitReady(fmt.Sprintf("%s-many-%d", namespace, i), 1)
	}
	return func() {
		for i := range releases {
			for k := range each {
				w.PatchIn(kit.ConfigMaps, namespace, name(i, k), `{"data":{"key":"tampered"}}`)
			}
		}
	}
}

// A tenant's webhook without an answer holds only its releases' and its namespace's share of the concurrent writes.
func TestI12_SlowWebhookHasAShareOfTheWrites(t *testing.T) {
	t.Parallel()
	w := newFixture(t, byDefault)
	victim := w.victim()
	tamper := w.tampered(w.Apps, 3, 12)
	hold, count, givenUp := w.held(w.Apps)
	tamper()
	const share = 12
	check.NoError(t, hold.Wait(w.Ctx, share))
	w.goesOn(victim)
	// A write is given up after half a minute, and makes room for another.
	if n, over := count.Load(), givenUp.Load(); n > share && over == 0 {
		t.Errorf("%d writes were under way, want %d", n, share)
	}
}

// Many tenants have such webhooks: together they hold all concurrent writes. Slow writes no longer count.
func TestI12_SlowWebhooksOfManyTenants(t *testing.T) {
	t.Parallel()
	w := newFixture(t, byDefault)
	victim := w.victim()
	var namespaces []string
	var tamper []func()
	for i := range 4 {
		namespace := w.Namespace(fmt.Sprintf("%s-slow-%d", w.Apps, i))
		namespaces = append(namespaces, namespace)
		tamper = append(tamper, w.tampered(namespace, 2, 8))
	}
	hold, _, _ := w.held(namespaces...)
	for _, tamper := range tamper {
		tamper()
	}
	if err := hold.Wait(w.Ctx, 48); err != nil { // more than may be under way that are not slow
		t.Fatal(err)
	}
	w.goesOn(victim)
}
