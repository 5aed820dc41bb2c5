package fidelity

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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// pinned declares fields that the engine below changes, and other fields.
const pinned = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: pinned, labels: {tier: gold}}
spec:
  replicas: 0
  selector: {matchLabels: {app: pinned}}
  template:
    metadata: {labels: {app: pinned}}
    spec:
      tolerations: [{key: own, operator: Exists}]
      containers: [{name: main, image: "example.com/main:1", env: [{name: A, value: a}, {name: B, value: b}]}]
`

// States of the engine: it pins images to a digest, to another one, does nothing, or fails.
const (
	pinsFirst = iota
	pinsSecond
	isGone
	isDown
)

// engine serves a webhook that pins images, injects a container before the declared ones, and adds a toleration.
func (w *fixture) engine() *atomic.Int32 {
	w.Helper()
	state := &atomic.Int32{}
	w.Webhook(func(object map[string]any) []string {
		if object["kind"] != "Deployment" || state.Load() == isGone {
			return nil
		}
		if state.Load() == isDown {
			return []string{`"no operation"`}
		}
		digest := "@sha256:" + strings.Repeat([]string{"a", "b"}[state.Load()], 64)
		var operations []string
		containers := containersOf(object)
		for i, container := range containers {
			if image := fmt.Sprint(container["image"]); image == "example.com/main:1" {
				operations = append(operations, set(fmt.Sprintf("%s/containers/%d/image", pod, i), fmt.Sprintf("%q", image+digest)))
			}
		}
		if named(containers, "proxy") < 0 {
			operations = append(operations, add(pod+"/containers/0", `{"name":"proxy","image":"mesh.example/proxy:9"}`))
		}
		if text, err := json.Marshal(kit.Field(asObject(object), "spec.template.spec.tolerations")); err == nil &&
			!strings.Contains(string(text), "mesh") {
			operations = append(operations, add(pod+"/tolerations/-", `{"key":"mesh","operator":"Exists"}`))
		}
		return operations
	})
	return state
}

// inSync counts how often the operator has found an object in sync.
func inSync(o *kit.Operator, name string) (n int) {
	for line := range strings.Lines(o.Log()) {
		if strings.Contains(line, "judged the object") && strings.Contains(line, "/"+name) &&
			strings.Contains(line, "state=InSync") {
			n++
		}
	}
	return n
}

// again does something, and waits until the operator has found some objects in sync again.
func (w *fixture) again(o *kit.Operator, do func(), names ...string) {
	w.Helper()
	before := map[string]int{}
	for _, name := range names {
		before[name] = inSync(o, name)
	}
	do()
	for _, name := range names {
		w.Until(name+" is judged again", func() (any, bool) { n := inSync(o, name); return n, n > before[name] })
	}
}

// restart starts an operator in place of a stopped one, and waits until it has found some objects in sync.
func (w *fixture) restart(names ...string) {
	w.Helper()
	w.Running = kit.StartOperator(w.TB, w.Proxy.RESTConfig(), w.Operator)
	w.again(w.Running, func() {}, names...)
}

// memories returns the operator's Secrets of settled forms.
func (w *fixture) memories() (names []string) {
	w.Helper()
	list, err := w.Kube.CoreV1().Secrets(w.Operator).List(w.Ctx, metav1.ListOptions{})
	check.NoError(w, err)
	for _, s := range list.Items {
		if strings.Contains(s.Name, "-settled-") {
			names = append(names, s.Name)
		}
	}
	return names
}

func (w *fixture) forgetSettled() {
	w.Helper()
	for _, name := range w.memories() {
		check.NoError(w, w.Kube.CoreV1().Secrets(w.Operator).Delete(w.Ctx, name, metav1.DeleteOptions{}))
	}
}

// occasions are when an operator learns the forms of objects again.
var occasions = map[string]func(w *fixture, n int, change func()){
	"restart": func(w *fixture, n int, change func()) {
		w.Running.Stop()
		change()
		w.restart("pinned")
	},
	"new rule": func(w *fixture, n int, change func()) {
		change()
		w.again(w.Running, func() {
			w.ignore(fmt.Sprintf("/metadata/labels/tier%d", n))
		}, "pinned")
	},
	"rule for a part of it": func(w *fixture, n int, change func()) {
		change()
		w.again(w.Running, func() {
			w.ignore(pod+"/tolerations", fmt.Sprintf("/metadata/labels/tier%d", n))
		}, "pinned")
	},
	"new scope": func(w *fixture, n int, change func()) {
		change()
		w.again(w.Running, func() {
			w.PatchHelmRelease("app", fmt.Sprintf(`{"spec":{"scope":%q}}`, []string{"Strict", "Declared"}[n%2]))
		}, "pinned")
	},
	"new rule while the operator is down": func(w *fixture, n int, change func()) {
		w.Running.Stop()
		change()
		w.ignore(pod+"/tolerations", fmt.Sprintf("/metadata/labels/tier%d", n))
		w.restart("pinned")
	},
	"touched record": func(w *fixture, n int, change func()) {
		change()
		w.again(w.Running, func() {
			w.Patch(kit.Secrets, "sh.helm.release.v1.app.v1", fmt.Sprintf(`{"metadata":{"labels":{"touched":"%d"}}}`, n))
		}, "pinned")
	},
	"suspended and resumed": func(w *fixture, n int, change func()) {
		change()
		w.again(w.Running, func() { w.relock() }, "pinned")
	},
	"upgrade of the operator": func(w *fixture, n int, change func()) {
		w.Running.Stop()
		w.forgetSettled()
		change()
		w.restart("pinned")
	},
	"fail-over": func(w *fixture, n int, change func()) {
		second := kit.StartOperator(w.TB, w.Proxy.RESTConfig(), w.Operator, inTurn)
		w.again(second, func() {}, "pinned")
		change()
		w.Running.Stop()
		w.Running = second
		w.Patch(kit.ConfigMaps, "beside", fmt.Sprintf(`{"data":{"key":"evil %d"}}`, n))
		w.WaitField(kit.ConfigMaps, "beside", "data.key", "declared") // the second one leads
	},
}

func inTurn(o *operator.ControllerOptions) { o.LeaderElection, o.LeaseDuration = true, 2*time.Second }

// ignore replaces the rules by one for some paths.
func (w *fixture) ignore(paths ...string) {
	w.Helper()
	text, err := json.Marshal(map[string]any{"spec": map[string]any{"ignore": []any{map[string]any{"paths": paths}}}})
	check.NoError(w, err)
	w.PatchHelmRelease("app", string(text))
}

// A policy engine's change to an object that only Helm has written stays, whatever the engine would change now.
func TestI6_WhatWasSettledOnceStays(t *testing.T) {
	for name, occasion := range occasions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
				w := &fixture{kit.Start(t, inTurn)}
				engine := w.engine()
				w.Installed(helm, "app", pinned+"\n---\n"+kit.ConfigMap("beside", "declared"))
				n := len(w.memories())
				check.That(t, n == 1, "%d Secrets of settled forms", n)
				before := w.Get(resource("deployments"), "pinned")
				w.Proxy.Reset()
				for n, state := range []int32{pinsSecond, isGone, isDown} {
					occasion(w, n, func() { engine.Store(state) })
					w.staysAs(before)
					w.Until("status.exceptions has what is excused", func() (any, bool) {
						all := w.HelmRelease("app").Status.Exceptions
						excused := slices.ContainsFunc(all, func(e v1alpha1.Exception) bool {
							return e.Reason == v1alpha1.ExceptionLeftByHelm && e.Object.Name == "pinned"
						})
						return all, excused == (name == "upgrade of the operator")
					})
				}
			})
		})
	}
}

// staysAs fails the test when the object called pinned was written.
func (w *fixture) staysAs(before *unstructured.Unstructured) {
	w.Helper()
	w.WaitReady("app", 1)
	after := w.Get(resource("deployments"), "pinned")
	if after.GetResourceVersion() != before.GetResourceVersion() || after.GetGeneration() != 1 {
		w.Errorf("it was written: generation %d, version %s, and %s before", after.GetGeneration(),
			after.GetResourceVersion(), before.GetResourceVersion())
	}
	w.expectNoWrites("to what was settled", "deployments")
}

// TestI5_StatusesDoNotWaitForTheSettledForms holds the request for the remembered forms. Meanwhile another release is
// locked, and its status is written.
func TestI5_StatusesDoNotWaitForTheSettledForms(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Helm(kit.Shared.Helm3(), "install", "app", w.Chart("app", kit.ConfigMap("settings", "declared")))
	w.Helm(kit.Shared.Helm3(), "install", "other", w.Chart("other", kit.ConfigMap("others", "declared")))
	w.Patch(kit.ConfigMaps, "settings", `{"data":{"key":"tampered"}}`)
	reads := w.Proxy.HoldRequests(cluster.ForResource("secrets", http.MethodGet).
		And(cluster.ForQuery("labelSelector", "helm.cattle.io/settled")))
	w.CreateHelmRelease("app")
	w.WaitHeld(reads, 1)
	w.Lock("other")
	n := reads.Arrived()
	check.That(t, n == 1, "%d requests were sent: the status waited for the end of the first", n)
	reads.Release()
	w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
}
