package fidelity

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// mutated has fields that the webhook below changes: it moves images to a registry, adds a sidecar and a label, and
// rewrites an annotation.
var mutated = shape{
	object: "deployments/mutated",
	manifest: `
apiVersion: apps/v1
kind: Deployment
metadata: {name: mutated, annotations: {note: NOTE, owner: chart}}
spec:
  replicas: 0
  selector: {matchLabels: {app: mutated}}
  template:
    metadata: {labels: {app: mutated}}
    spec: {containers: [{name: main, image: "example.com/main:1", env: [{name: A, value: a}]}]}
`,
	edits: []edit{
		setting("rewritten image", pod+"/containers/0/image", `"registry.local/evil:1"`),
		setting("image to be rewritten", pod+"/containers/0/image", `"evil:1"`),
		setting("variable beside it", pod+"/containers/0/env/0/name", `"EVIL"`),
		setting("name of the container", pod+"/containers/0/name", `"evil"`),
		setting("note", "/metadata/annotations/note", `"evil"`),
	},
}

var shouted = shape{
	object:   "configmaps/shouted",
	manifest: "\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: shouted, annotations: {note: NOTE}}\ndata: {loud: declared, key: declared}\n",
	edits: []edit{
		{name: "rewritten value", patch: `{"data":{"loud":"evil"}}`},
		{name: "rewritten value removed", patch: `{"data":{"loud":null}}`},
		{name: "value beside it", patch: `{"data":{"key":"evil"}}`},
		{name: "all values", patch: `{"data":null}`},
	},
}

// The webhook exists before Helm installs: its changes to the objects are part of the state left by Helm.
func TestI6_WhatAWebhookMakesOfItIsNotFought(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		w.Webhook(func(object map[string]any) []string {
			if object["kind"] == "Deployment" {
				return mutateDeployment(object)
			}
			if data, ok := object["data"].(map[string]any); ok && data["loud"] != nil {
				return []string{set("/data/loud", fmt.Sprintf("%q", strings.ToUpper(fmt.Sprint(data["loud"]))))}
			}
			return nil
		})
		r := w.install(helm.Name, helm, []shape{mutated, shouted})
		r.reverts(t)
		if !t.Failed() {
			r.upgrades()
		}
	})
}

func mutateDeployment(object map[string]any) []string {
	operations := []string{add("/metadata/labels/mutated", `"yes"`), add("/metadata/annotations/owner", `"webhook"`)}
	containers := containersOf(object)
	for i, container := range containers {
		if image := fmt.Sprint(container["image"]); !strings.HasPrefix(image, "registry.local/") {
			operations = append(operations, set(fmt.Sprintf("%s/containers/%d/image", pod, i),
				fmt.Sprintf("%q", "registry.local/"+image)))
		}
	}
	if named(containers, "sidecar") < 0 {
		operations = append(operations, add(pod+"/containers/-", `{"name":"sidecar","image":"registry.local/sidecar:1"}`))
	}
	return operations
}

// A webhook with a different answer each time: its last answer counts as the canonical form of the object, so that
// only a user's change is followed by a write.
func TestI6_AWebhookThatAnswersDifferentlyEachTime(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		w.Helm(helm, "install", "app", w.Chart("app", kit.ConfigMap("fickle", "declared")))
		var answers atomic.Int64
		w.Webhook(func(object map[string]any) []string {
			if asObject(object).GetName() != "fickle" {
				return nil
			}
			return []string{add("/data/key", fmt.Sprintf(`"answer %d"`, answers.Add(1)))}
		})
		w.Patch(kit.ConfigMaps, "fickle", `{"data":{"other":"x"}}`) // the webhook has its say
		w.Proxy.Reset()
		w.Lock("app")
		w.PassFence()
		if n := len(w.to("fickle")); n > 1 {
			t.Errorf("%d writes at the lock", n)
		}
		const edits = 3
		for i := range edits {
			w.Proxy.Reset()
			u := w.Patch(kit.ConfigMaps, "fickle", fmt.Sprintf(`{"data":{"further":"%d"}}`, i))
			w.Until("it is written back", func() (any, bool) {
				return "it is as it was edited", w.Get(kit.ConfigMaps, "fickle").GetResourceVersion() != u.GetResourceVersion()
			})
			w.PassFence()
			n := len(w.to("fickle"))
			check.That(t, n <= 3, "%d writes after one edit", n)
		}
		w.Proxy.Reset()
		w.relock()
		w.PassFence()
		n := len(w.to("fickle"))
		check.That(t, n <= 1, "%d writes at the second lock", n)
		w.WaitReason("app", v1alpha1.ConditionContended, v1alpha1.ReasonNoContention)
	})
}

// A controller behind the webhook writes whenever the object is written, so that each revert causes the next change:
// a fight.
func TestI6_AWebhookAndAControllerThatInsist(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Installed(kit.Shared.Helm3(), "app", kit.ConfigMap("fickle", "declared"))
	ctx, stop := context.WithCancel(w.Ctx)
	events, err := w.In(kit.ConfigMaps, w.Apps).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=fickle"})
	check.NoError(t, err)
	done := make(chan error, 1)
	go func() {
		defer close(done)
		for event := range events.ResultChan() {
			if u := asEvent(event); u == nil || kit.Field(u, "data.key") != "declared" {
				continue
			}
			_, err := w.In(kit.ConfigMaps, w.Apps).Patch(ctx, "fickle", types.MergePatchType,
				[]byte(`{"data":{"key":"mine"}}`), metav1.PatchOptions{FieldManager: "insister"})
			if err != nil && ctx.Err() == nil {
				done <- err
				return
			}
		}
	}()
	c := w.WaitReason("app", v1alpha1.ConditionContended, v1alpha1.ReasonFightDetected)
	for _, part := range []string{w.Apps + "/fickle", "insister", "/data/key"} {
		check.That(t, strings.Contains(c.Message, part), "Contended does not say %q: %s", part, c.Message)
	}
	before, _, _ := strings.Cut(w.Running.Log(), "something keeps changing the object back")
	n := strings.Count(before, "msg=reverted")
	check.That(t, n != 0 && n <= 10, "%d reverts until it was found to be a fight", n)
	stop()
	events.Stop()
	check.Report(t, <-done)
	w.WaitField(kit.ConfigMaps, "fickle", "data.key", "declared")
}
