package fidelity

import (
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

const sharing = "tool"

// share applies the declared values of an object as another manager.
func (w *fixture) share() {
	w.Helper()
	_, err := w.In(kit.ConfigMaps, w.Apps).Patch(w.Ctx, "plain", types.ApplyPatchType,
		[]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"plain"},"data":{"key":"declared"}}`),
		metav1.PatchOptions{FieldManager: sharing})
	check.NoError(w, err)
}

// A tool that applies the declared values again and again takes a share each time. That is a fight like any other: each
// share costs two writes, and the fight is reported with the name of the tool. In Detect the share is only reported.
func TestI6_AToolThatSharesAgainAndAgain(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.locked(kit.Shared.Helm4())
	w.WaitReady("app", 1)
	w.Proxy.Reset()
	const rounds = 9
	for range rounds {
		w.share()
		w.Eventually("the share is taken back", func() error { return sharedBy(w.Get(kit.ConfigMaps, "plain"), sharing) })
	}
	n := len(w.to("plain"))
	check.That(t, n <= 2*rounds, "%d writes for %d shares", n, rounds)
	w.Says("app", v1alpha1.ConditionContended, v1alpha1.ReasonFightDetected, "ConfigMap", sharing)
	w.PatchHelmRelease("app", `{"spec":{"mode":"Detect"}}`)
	w.WaitReason("app", v1alpha1.ConditionLocked, v1alpha1.ReasonDetectOnly)
	w.Proxy.Reset()
	w.share()
	w.WaitFieldIn(kit.HelmReleases, w.Operator, "app", "status.objects.drifted", int64(1))
	w.PassFence()
	n = len(w.to("plain"))
	check.That(t, n <= 0, "%d writes in Detect", n)
	check.That(t, sharedBy(w.Get(kit.ConfigMaps, "plain"), sharing) != nil, "the share was taken back in Detect")
}

const defaulted = `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: "{{ .Release.Namespace }}"}
webhooks:
  - name: hook.example.com
    sideEffects: None
    admissionReviewVersions: [v1]
    failurePolicy: Ignore
    objectSelector: {matchLabels: {none: "yes"}}
    clientConfig: {url: "https://127.0.0.1:9/none"}
    rules: [{apiGroups: [none.example.com], apiVersions: [v1], operations: [CREATE], resources: [things]}]
`

// A default in a list that is one value is changed after an apply as Helm's manager, and before the shares of others
// are taken. The list is the tamperer's then. Only this shows the change to scope Strict.
func TestI5_AChangeBeforeTheSharesAreTaken(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Installed(kit.Shared.Helm4(), "app", defaulted)
	w.PatchHelmRelease("app", `{"spec":{"scope":"Strict"}}`)
	w.WaitReady("app", 1)
	gvr := resource("mutatingwebhookconfigurations")
	shares := w.Proxy.HoldRequests(func(r *http.Request) bool {
		return cluster.ForResource(gvr.Resource, http.MethodPatch)(r) &&
			r.Header.Get("Content-Type") == string(types.JSONPatchType)
	})
	patch := func(manager string, kind types.PatchType, body string) {
		_, err := w.In(gvr, "").Patch(w.Ctx, w.Apps, kind, []byte(body), metav1.PatchOptions{FieldManager: manager})
		check.NoError(w, err)
	}
	patch(sharing, types.ApplyPatchType, `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingWebhookConfiguration",`+
		`"metadata":{"name":"`+w.Apps+`"},"webhooks":[{"name":"hook.example.com","failurePolicy":"Ignore"}]}`)
	check.NoError(t, shares.Wait(w.Ctx, 1))
	patch(kit.Tamperer, types.JSONPatchType, `[{"op":"replace","path":"/webhooks/0/rules/0/scope","value":"Cluster"}]`)
	shares.Release()
	w.WaitFieldIn(gvr, "", w.Apps, "webhooks.0.rules.0.scope", "*")
}
