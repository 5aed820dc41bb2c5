package integration

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

var five = kit.ConfigMap("edited", "declared") + kit.ConfigMap("deleted", "declared") + kit.ConfigMap("unlabelled", "declared") +
	kit.ConfigMap("disowned", "declared") + kit.ConfigMap("untouched", "declared")

// tamperWithFive changes four of five objects: content, existence, the label of the watch's selector, and ownership.
func (w *fixture) tamperWithFive() {
	w.Helper()
	w.Patch(kit.ConfigMaps, "edited", `{"data":{"key":"tampered"}}`)
	w.Delete(kit.ConfigMaps, "deleted")
	w.Patch(kit.ConfigMaps, "unlabelled",
		`{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}},"data":{"key":"tampered"}}`)
	w.Patch(kit.ConfigMaps, "disowned", `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"me"},"annotations":null}}`)
}

func (w *fixture) waitFive() {
	w.Helper()
	for _, name := range []string{"edited", "deleted", "unlabelled", "disowned", "untouched"} {
		w.Eventually("ConfigMap "+name+" is as declared", func() error {
			u := w.Get(kit.ConfigMaps, name)
			if u == nil {
				return fmt.Errorf("it does not exist")
			}
			got := fmt.Sprint(kit.Field(u, "data.key"), u.GetLabels()["app.kubernetes.io/managed-by"],
				u.GetAnnotations()["meta.helm.sh/release-name"], u.GetAnnotations()["meta.helm.sh/release-namespace"])
			if want := fmt.Sprint("declared", "Helm", "app", w.Apps); got != want {
				return fmt.Errorf("it is %q, want %q", got, want)
			}
			return nil
		})
	}
}

func TestI5_DriftMadeBeforeTheLock(t *testing.T) {
	t.Parallel()
	for name, helm := range kit.Helms(kit.Shared) {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t)
			w.Helm(helm, "install", "app", w.Chart("app", five))
			w.tamperWithFive()
			w.Lock("app")
			w.waitFive()
		})
	}
}

func TestI5_DriftWhileTheOperatorIsDown(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Installed(kit.Shared.Helm4(), "app", five)
	w.Running.Stop()
	w.tamperWithFive()
	kit.StartOperator(t, w.Proxy.RESTConfig(), w.Operator)
	w.waitFive()
	drifts := w.records(4)
	w.WaitReady("app", 1)
	for _, d := range drifts {
		t.Logf("%s %s %v by %q: %s", d.Object, d.Operation, d.Paths, d.FieldManager, d.Action)
	}
}

func TestI5_DriftDuringAWatchGap(t *testing.T) {
	t.Parallel()
	t.Run("that ends with a watch from where it was", func(t *testing.T) {
		w := newFixture(t)
		w.Installed(kit.Shared.Helm3(), "app", five)
		w.Reverts("untouched", "declared") // client-go lists anew after a watch that was short and had no event
		w.Proxy.Reset()
		release := w.Proxy.HoldWatch(cluster.WatchOf("configmaps"))
		w.tamperWithFive()
		w.Proxy.CutWatches(cluster.WatchOf("configmaps"))
		release()
		w.waitFive()
		for _, r := range w.Proxy.Requests() {
			if r.Resource() == "configmaps" && r.Query.Get("watch") != "" && r.Query.Get("sendInitialEvents") != "" {
				t.Errorf("the operator began anew: %s", r)
			}
		}
	})
	t.Run("that ends with a new list", func(t *testing.T) {
		w := newFixture(t)
		w.Installed(kit.Shared.Helm3(), "app", five)
		sight, expired := w.Proxy.Blind(cluster.WatchOf("configmaps"))
		w.tamperWithFive()
		sight()
		w.waitFive()
		w.Until("the operator is told that its version has expired", func() (any, bool) { return nil, expired() })
	})
}

// During the read of a new revision's payload, the old lock has ended and the new one does not exist yet.
func TestI5_DriftDuringARelock(t *testing.T) {
	t.Parallel()
	for _, answer := range []bool{false, true} {
		t.Run(fmt.Sprintf("payload held after the API server read it: %t", answer), func(t *testing.T) {
			w := newFixture(t)
			chart := w.Installed(kit.Shared.Helm3(), "app",
				five+"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: revision}\ndata: {key: \"{{ .Release.Revision }}\"}\n")
			payload := cluster.ForPath("/secrets/sh.helm.release.v1.app.v2", http.MethodGet)
			hold := w.Proxy.HoldRequests(payload)
			if answer {
				hold.Release()
				hold = w.Proxy.HoldAnswers(payload)
			}
			w.Helm(kit.Shared.Helm3(), "upgrade", "app", chart)
			check.NoError(t, hold.Wait(t.Context(), 1))
			w.tamperWithFive()
			w.Patch(kit.ConfigMaps, "revision", `{"data":{"key":"tampered"}}`)
			hold.Release()
			w.waitFive()
			w.WaitField(kit.ConfigMaps, "revision", "data.key", "2")
			w.WaitReady("app", 2)
		})
	}
}

// Without its label an object leaves the operator's watch.
func TestI5_LabelRemovedAndThenTheRest(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Installed(kit.Shared.Helm4(), "app", five)
	for range 5 {
		w.Patch(kit.ConfigMaps, "edited", `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`)
		w.Patch(kit.ConfigMaps, "edited", `{"data":{"key":"tampered"}}`)
		w.waitFive()
	}
	before := w.Get(kit.ConfigMaps, "edited").GetUID()
	w.Patch(kit.ConfigMaps, "edited", `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`)
	w.waitFive()
	u := w.Get(kit.ConfigMaps, "edited")
	check.That(t, u.GetUID() == before, "the object was replaced although it only had lost its label")
	w.Eventually("the loss of the label is reported", func() error {
		for _, d := range w.HelmRelease("app").Status.RecentDrift {
			if d.Operation == v1alpha1.DriftRemoved && len(d.Paths) == 1 &&
				strings.HasPrefix(d.Paths[0], "/metadata/labels") {
				return nil
			}
		}
		return fmt.Errorf("recent drift is %+v", w.HelmRelease("app").Status.RecentDrift)
	})
}

// Users with the right to edit an object must not be able to unlock it by its metadata.
func TestI8_LiveMetadataExemptsNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Forge(kit.ForgedRecord{Name: "other", Manifest: kit.ConfigMap("of-other", "declared")})
	w.Forged("app", kit.ConfigMap("settings", "declared"))
	for name, metadata := range map[string]string{
		"the annotation that exempts it in a manifest":   `{"annotations":{"helmreleases.cattle.io/lock":"disabled"}}`,
		"the annotation that exempts it from Flux":       `{"annotations":{"helm.toolkit.fluxcd.io/driftDetection":"disabled"}}`,
		"Helm's policy to keep it":                       `{"annotations":{"helm.sh/resource-policy":"keep"}}`,
		"Helm's mark of a hook":                          `{"annotations":{"helm.sh/hook":"pre-install"}}`,
		"the name of a release that does not exist":      `{"annotations":{"meta.helm.sh/release-name":"nobody"}}`,
		"the name of a release that does not declare it": `{"annotations":{"meta.helm.sh/release-name":"other"}}`,
		"no owner":             `{"annotations":{"meta.helm.sh/release-name":null,"meta.helm.sh/release-namespace":null}}`,
		"no label of Helm's":   `{"labels":{"app.kubernetes.io/managed-by":null}}`,
		"the label of another": `{"labels":{"app.kubernetes.io/managed-by":"me"}}`,
		"a finalizer":          `{"finalizers":["example.com/mine"]}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := &fixture{Fixture: w.On(t)}
			w.Patch(kit.ConfigMaps, "settings", `{"metadata":`+metadata+`,"data":{"key":"tampered"}}`)
			w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
			w.Reverts("settings", "declared") // what is not declared has stayed
		})
	}
	w.Patch(kit.ConfigMaps, "settings", `{"metadata":{"finalizers":null}}`)
}

// Every request of a revert fails at first, as it does while an API server restarts: the watch has delivered the
// drift and does not deliver it again.
func TestI5_WhatTheAPIServerDoesNotAnswerIsAskedAgain(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Installed(kit.Shared.Helm3(), "app", five)
	kinds := []struct {
		name  string
		match cluster.Match
		seen  atomic.Int32
	}{
		{name: "look at an object", match: cluster.ForResource("configmaps", http.MethodGet)},
		{name: "check of the record", match: cluster.ForResource("secrets")}, // a list, or a fence
		{name: "patch", match: cluster.ForResource("configmaps", http.MethodPatch)},
		{name: "creation", match: cluster.ForResource("configmaps", http.MethodPost)},
	}
	w.Proxy.Intercept(func(r *http.Request) cluster.Action {
		for i := range kinds {
			if !cluster.IsWatch(r) && kinds[i].match(r) && kinds[i].seen.Add(1) <= 3 {
				return cluster.Fail(http.StatusInternalServerError, "on purpose")
			}
		}
		return cluster.Forward()
	})
	w.tamperWithFive()
	w.waitFive()
	w.WaitReady("app", 1)
	for i := range kinds {
		n := kinds[i].seen.Load()
		check.That(t, n >= 4, "%s: %d requests, so not all that failed were repeated", kinds[i].name, n)
	}
}
