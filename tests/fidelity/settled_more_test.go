package fidelity

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// A change made while no operator ran is reverted, also one without an entry in the managed fields, or with an entry
// under the name of Helm, whether the settled form is known or not.
func TestI5_ManagedFieldsAloneExcuseNothing(t *testing.T) {
	changes := map[string]struct {
		patch, manager, sub string
		kind                types.PatchType
	}{
		"removal": {kind: types.JSONPatchType, manager: "editor",
			patch: `[{"op":"remove","path":"` + pod + `/containers/1/env/1"}]`},
		"removal of a label": {kind: types.MergePatchType, manager: "editor", patch: `{"metadata":{"labels":{"tier":null}}}`},
		"image in the name of Helm": {kind: types.JSONPatchType, manager: "helm",
			patch: `[{"op":"replace","path":"` + pod + `/containers/1/image","value":"evil@x"}]`},
		"tolerations in the name of Helm": {kind: types.JSONPatchType, manager: "helm",
			patch: `[{"op":"remove","path":"` + pod + `/tolerations/0"}]`},
		"cleared managed fields": {kind: types.JSONPatchType, manager: "editor",
			patch: `[{"op":"replace","path":"` + pod + `/containers/1/image","value":"evil@x"},` +
				`{"op":"replace","path":"/metadata/managedFields","value":[{}]}]`},
		"scale": {kind: types.MergePatchType, manager: "kubectl", sub: "scale", patch: `{"spec":{"replicas":1}}`},
	}
	for _, known := range []bool{true, false} {
		for name, c := range changes {
			t.Run(fmt.Sprintf("%s, settled forms known %t", name, known), func(t *testing.T) {
				t.Parallel()
				kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
					w := newFixture(t)
					w.engine()
					w.Installed(helm, "app", pinned)
					w.Running.Stop()
					if !known {
						w.forgetSettled()
					}
					before := w.Get(resource("deployments"), "pinned")
					w.NextSecond(w.Get(kit.Secrets, "sh.helm.release.v1.app.v1"))
					_, err := w.In(resource("deployments"), w.Apps).Patch(w.Ctx, "pinned", c.kind, []byte(c.patch),
						metav1.PatchOptions{FieldManager: c.manager}, strings.Fields(c.sub)...)
					check.NoError(t, err)
					w.restart()
					for _, path := range []string{"spec.replicas", "spec.template", "metadata.labels"} {
						w.WaitField(resource("deployments"), "pinned", path, kit.Field(before, path))
					}
				})
			})
		}
	}
}

// A start with known settled forms takes no dry run, and one request for the forms.
func TestI11_SettledFormsCostNoRequests(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.engine()
	w.Installed(kit.Shared.Helm3(), "app", pinned+"\n---\n"+strings.ReplaceAll(pinned, "pinned", "other"))
	count := func() (all, dry, own int) {
		w.Running.Stop()
		w.Proxy.Reset()
		w.restart("pinned", "other")
		w.Running.Stop()
		for _, r := range w.Proxy.Requests() {
			about := r.Resource() == "deployments" || r.Resource() == "secrets"
			if r.Query.Get("watch") == "true" || !about {
				continue
			}
			all++
			if r.Query.Get("dryRun") != "" {
				dry++
			}
			if strings.Contains(r.Path+"?"+r.Query.Encode(), "settled") ||
				r.Method == http.MethodPost && strings.Contains(string(r.Body), "settled") {
				own++
			}
		}
		return all, dry, own
	}
	all, dry, own := count()
	check.That(t, dry == 0 && own == 1, "%d dry runs and %d requests for settled forms of %d requests", dry, own, all)
	w.forgetSettled()
	before, dry, own := count()
	check.That(t, dry == 2 && own <= 3, "without the forms: %d dry runs and %d requests for settled forms of %d requests",
		dry, own, before)
	check.That(t, all <= before-own, "%d requests with the settled forms, and %d without", all, before-own)
}

// The stored settled form of a Secret contains no value of it, and is deleted with its HelmRelease.
func TestI7_SettledFormsHoldNoValue(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Webhook(func(object map[string]any) []string {
		if asObject(object).GetName() != "quiet" {
			return nil
		}
		return []string{set("/data/key", `"SECRETVALUE-settled"`)}
	})
	w.Installed(kit.Shared.Helm3(), "app", kit.ConfigMap("quiet", "declared"))
	names := w.memories()
	check.Must(t, len(names) == 1, "Secrets of settled forms: %v", names)
	secret, err := w.Kube.CoreV1().Secrets(w.Operator).Get(w.Ctx, names[0], metav1.GetOptions{})
	check.NoError(t, err)
	text, err := json.Marshal(secret)
	check.NoError(t, err)
	for _, value := range []string{"SECRETVALUE", "declared", "quiet", "/data"} {
		check.That(t, !strings.Contains(string(text)+string(secret.Data["settled"]), value), "it holds %q: %s", value,
			secret.Data["settled"])
	}
	owners := secret.OwnerReferences
	check.That(t, len(owners) == 1 && owners[0].UID == w.HelmRelease("app").UID, "its owners are %v", owners)
	w.DeleteHelmRelease("app")
	w.Patience = time.Minute // the garbage collector looks for new kinds every 30 s
	w.Until("the Secret is gone", func() (any, bool) { n := w.memories(); return n, len(n) == 0 })
}

// A policy engine changes an object at its installation, and then is gone or changes it otherwise. A revert of another
// field leaves the engine's change alone: nothing is rolled out.
func TestI6_ARevertLeavesWhatWasSettled(t *testing.T) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		engine := w.engine()
		w.Installed(helm, "app", pinned)
		template := func() any { return kit.Field(w.Get(resource("deployments"), "pinned"), "spec.template") }
		before := template()
		for _, state := range []int32{isGone, pinsSecond} {
			engine.Store(state)
			w.Patch(resource("deployments"), "pinned", `{"metadata":{"labels":{"tier":"evil"}}}`)
			w.WaitField(resource("deployments"), "pinned", "metadata.labels.tier", "gold")
			check.NoError(t, kit.Difference(before, template(), "template", nil))
		}
		w.WaitReady("app", 1)
	})
}
