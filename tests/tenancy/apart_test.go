package tenancy

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"strings"
	"sync/atomic"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// I12: whatever one tenant's records, objects, webhooks or accounts do, what drifts elsewhere is put back. Here what an
// attacker makes the operator wait for never comes, and the victim's objects are put back meanwhile; how long that
// takes is measured by tests/cmd/bench.

// attackers is how many releases an attacker has: as many as an operator could have workers.
const attackers = 8

// victim locks a release of one ConfigMap, called settings, in a namespace of its own, and returns the environment of
// that.
func (w *fixture) victim() *kit.Env {
	w.Helper()
	namespace := w.Namespace(w.Apps + "-victim")
	_, person := w.tenant(namespace)
	person.Forge(kit.ForgedRecord{Name: "victim", Manifest: kit.ConfigMap("settings", "declared") +
		kit.ConfigMap("more", "declared")})
	w.lockIn(namespace, "victim", "victim")
	w.WaitReady("victim", 1)
	elsewhere := *w.Env
	elsewhere.Apps = namespace
	return &elsewhere
}

// goesOn fails the test unless what drifts at the victim's is put back: a change, and a deletion.
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

// attack locks releases in Apps, has their only object deleted, and calls then when all of them were created again and
// no answer to that has arrived: what is done there the operator learns of when it confirms the creations.
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

// undecided returns when the operator has tried, of each of the attacker's releases, to find out whether what it
// created may stay, or to take it back.
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

// Nobody can tell whether what was created may stay: the newest record of each release is a Secret without a status.
func TestI12_MalformedRecordsHoldNobodyUp(t *testing.T) {
	t.Parallel()
	w := newFixture(t, byDefault)
	victim := w.victim()
	w.attack(func(i int) {
		w.Forge(kit.ForgedRecord{Name: fmt.Sprintf("attacker-%d", i), Revision: 2,
			Labels: map[string]string{"status": ""}})
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

// What was created has to be taken back, as its release is gone, and a webhook that cannot be reached keeps that from
// being done.
func TestI12_UnreachableWebhooksHoldNobodyUp(t *testing.T) {
	t.Parallel()
	w := newFixture(t, byDefault)
	victim := w.victim()
	w.attack(func(i int) {
		if i == 0 {
			w.refuseDeletions()
		}
		name := fmt.Sprintf("sh.helm.release.v1.attacker-%d.v1", i)
		check.NoError(w, w.Kube.CoreV1().Secrets(w.Apps).Delete(w.Ctx, name, metav1.DeleteOptions{}))
	})
	w.undecided()
	w.goesOn(victim)
}

// refuseDeletions has the deletion of ConfigMaps of Apps judged by a webhook that does not exist.
func (w *fixture) refuseDeletions() {
	w.Helper()
	url, fail, none := "https://127.0.0.1:1/", admissionv1.Fail, admissionv1.SideEffectClassNone
	webhooks := w.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	config, err := webhooks.Create(w.Ctx, &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "down-"},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "down.example.com", ClientConfig: admissionv1.WebhookClientConfig{URL: &url}, FailurePolicy: &fail,
			SideEffects:             &none,
			AdmissionReviewVersions: []string{"v1"},
			NamespaceSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{"kubernetes.io/metadata.name": w.Apps},
			},
			Rules: []admissionv1.RuleWithOperations{{Operations: []admissionv1.OperationType{admissionv1.Delete},
				Rule: admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"},
					Resources: []string{"configmaps"}}}},
		}},
	}, metav1.CreateOptions{})
	check.NoError(w, err)
	w.Cleanup(func() {
		check.Report(w, webhooks.Delete(context.WithoutCancel(w.Ctx), config.Name, metav1.DeleteOptions{}))
	})
}

// held keeps the writes to ConfigMaps of namespaces from the API server, as webhooks that do not answer do, and counts
// them.
func (w *fixture) held(namespaces ...string) (hold *cluster.Hold, count *atomic.Int32) {
	w.Helper()
	count = &atomic.Int32{}
	hold = w.Proxy.HoldRequests(func(r *http.Request) bool {
		for _, namespace := range namespaces {
			if isWrite("configmaps", http.MethodPatch)(r) &&
				strings.Contains(r.URL.Path, "/namespaces/"+namespace+"/") {
				count.Add(1)
				return true
			}
		}
		return false
	})
	w.Cleanup(hold.Release)
	return hold, count
}

// tampered locks releases of many ConfigMaps in a namespace and returns a function that has all of them drift.
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

// A tenant's webhook that does not answer keeps a share of the writes under way, of its releases and of the namespace,
// and no more.
func TestI12_SlowWebhookHasAShareOfTheWrites(t *testing.T) {
	t.Parallel()
	w := newFixture(t, byDefault)
	victim := w.victim()
	tamper := w.tampered(w.Apps, 3, 12)
	hold, count := w.held(w.Apps)
	tamper()
	const share = 12
	check.NoError(t, hold.Wait(w.Ctx, share))
	w.goesOn(victim)
	if n := count.Load(); n != share {
		t.Errorf("%d writes were under way, want %d", n, share)
	}
}

// Many tenants have such webhooks: together they keep all the writes that may be under way. They count no more when
// they are slow.
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
	hold, _ := w.held(namespaces...)
	for _, tamper := range tamper {
		tamper()
	}
	if err := hold.Wait(w.Ctx, 48); err != nil { // more than may be under way that are not slow
		t.Fatal(err)
	}
	w.goesOn(victim)
}

// Objects say that they belong to a release whose record cannot be read, or takes long to be read. They wait for it, in
// nobody's way, and it is read once for all of them.
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
	if n := reads.Load(); n != 1 {
		t.Errorf("the record was read %d times", n)
	}
	hold.Release()
	for i := range attackers {
		w.WaitField(kit.ConfigMaps, fmt.Sprintf("claimed-%d", i), "data.key", "declared")
	}
	if n := reads.Load(); n != 1 {
		t.Errorf("the record was read %d times", n)
	}
}
