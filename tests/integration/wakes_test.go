package integration

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// These tests change the dependencies of a lock other than its own record, also at the worst moment.

// define creates a definition until the test ends.
func (w *fixture) define(definition *unstructured.Unstructured) {
	w.Helper()
	w.createIn(kit.Definitions, "", definition.Object)
	w.deleteDefinitionAtEnd(definition.GetName())
}

// deleteDefinitionAtEnd deletes a definition, if there is one, at the end of the test and of its operator: the oracle
// would judge an operator that ends while the objects of the definition go.
func (w *fixture) deleteDefinitionAtEnd(name string) {
	w.Cleanup(func() {
		w.Running.Stop()
		err := w.In(kit.Definitions, "").Delete(context.WithoutCancel(w.Ctx), name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			w.Error(err)
		}
	})
}

// widget is the manifest of a custom resource of a group.
func widget(group string) string {
	return fmt.Sprintf("---\napiVersion: %s/v1\nkind: Widget\nmetadata: {name: widget}\nspec: {size: 1}\n", group)
}

// getsDefinition matches requests that read a definition.
func getsDefinition(group string) cluster.Match {
	return cluster.ForPath("/customresourcedefinitions/widgets." + group)
}

// A failed read of a definition is retried: without the definition, lists would be compared as a whole.
func TestI6_ADefinitionIsReadAgainAfterAFailure(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	group := w.Apps + ".example.com"
	w.define(widgetDefinition(group))
	w.Forge(kit.ForgedRecord{Name: "app", Manifest: widget(group)})
	w.Proxy.On(getsDefinition(group).First(1), cluster.Fail(http.StatusInternalServerError, "on purpose"))
	w.Proxy.Reset()
	w.Lock("app")
	asked := slices.DeleteFunc(w.Proxy.Requests(), func(r cluster.Request) bool {
		return !strings.HasSuffix(r.Path, "/customresourcedefinitions/widgets."+group)
	})
	check.That(t, len(asked) == 2, "it was asked for %d times", len(asked))
}

// The current definition is used when it changes during the first load of a release.
func TestI6_ADefinitionChangesWhileAReleaseIsLoaded(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	group, later := w.Apps+".example.com", w.Apps+".later.example.com"
	definition := widgetDefinition(group)
	w.define(definition)
	w.Forge(kit.ForgedRecord{Name: "app", Manifest: widget(group)})
	w.Forge(kit.ForgedRecord{Name: "later", Manifest: widget(later)})
	w.CreateHelmRelease("later")
	w.WaitReason("later", v1alpha1.ConditionReady, v1alpha1.ReasonWaitingForKind)
	read := w.Proxy.HoldAnswers(getsDefinition(group))
	w.CreateHelmRelease("app")
	w.WaitHeld(read, 1)
	w.PatchIn(kit.Definitions, "", definition.GetName(), `{"spec":{"names":{"shortNames":["wg"]}}}`)
	// Changes of definitions are observed in order.
	w.define(widgetDefinition(later))
	w.WaitReady("later", 1)
	read.Release()
	w.Until("it is locked by the one definition, and then by the other", func() (any, bool) {
		n := 0
		for line := range strings.Lines(w.Running.Log()) {
			if strings.Contains(line, "msg=locked") && strings.Contains(line, "release="+w.Apps+"/app ") {
				n++
			}
		}
		return n, n == 2
	})
}

// A parse error is final only when it is the manifest's fault, whatever failed before. An invalid rule that the API
// server cannot detect prevents the lock, and is named.
func TestI5_AReleaseIsLockedAgainAfterAFailureOfDiscovery(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	group := w.Apps + ".example.com"
	w.Forge(kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("app", "declared") + widget(group)})
	createManaged(w.Env, "app", "app", "declared")
	w.CreateHelmRelease("app", func(hr *v1alpha1.HelmRelease) {
		w.fromYAML(`[{paths: [/data], target: {labelSelector: "a=b-"}}]`, &hr.Spec.Ignore)
	})
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonInvalidRule, "spec.ignore[0].target.labelSelector")
	w.Says("app", v1alpha1.ConditionStalled, v1alpha1.ReasonInvalidRule)
	w.PatchHelmRelease("app", `{"spec":{"ignore":null}}`)
	w.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonWaitingForKind)
	w.Reverts("app", "declared")
	var asked atomic.Bool
	heal := w.Proxy.Intercept(func(r *http.Request) cluster.Action {
		if path := r.URL.Path; path == "/api" || strings.HasPrefix(path, "/api") && strings.Count(path, "/") < 4 {
			asked.Store(true)
			return cluster.Fail(http.StatusInternalServerError, "on purpose")
		}
		return cluster.Forward()
	})
	other := w.Apps + ".other.example.com"
	w.define(widgetDefinition(other)) // so what is served is asked for again
	w.Until("it is asked for", func() (any, bool) { return "not yet", asked.Load() })
	w.PatchHelmRelease("app", `{"spec":{"scope":"Strict"}}`)
	w.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonManifestInvalid)
	heal()
	w.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonWaitingForKind)
	w.Reverts("app", "declared")
}

// The status does not refer to a spec that is not followed yet.
func TestStatus_IsOfTheSpecThatIsFollowed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Forge(kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("app", "declared")})
	createManaged(w.Env, "app", "app", "declared")
	w.Lock("app")
	read := w.Proxy.HoldRequests(cluster.ForPath("/secrets/sh.helm.release.v1.app.v1"))
	w.PatchHelmRelease("app", `{"spec":{"scope":"Strict"}}`)
	w.WaitHeld(read, 1)
	w.Reverts("app", "declared")
	w.Until("the status tells of the revert", func() (any, bool) {
		hr := w.HelmRelease("app")
		return hr.Status, len(hr.Status.RecentDrift) > 0
	})
	hr := w.HelmRelease("app")
	status, condition := hr.Status.ObservedGeneration, hr.Status.Conditions[0].ObservedGeneration
	check.That(t, hr.Generation == 2 && status == 1 && condition == 1, "generation %d, status of %d, condition of %d",
		hr.Generation, status, condition)
	read.Release()
	w.WaitObserved("app")
}
