package controller_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	helmrelease "helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/fakeapi"
)

// during calls what once, right before the first write of the given method to a ConfigMap is carried out.
func (f *fixture) during(method string, what func()) {
	var once sync.Once
	f.Refuse(func(r fakeapi.Request) *apierrors.StatusError {
		if r.Method == method && !r.DryRun && strings.Contains(r.Path, "/configmaps") {
			once.Do(what)
		}
		return nil
	})
}

func TestHelmBeginsDuringARevertAndFails(t *testing.T) {
	f := lockedWeb(t)
	// Helm reads "2", the value of its own revision, and so writes nothing; the revert takes that away.
	f.during(http.MethodPatch, func() {
		f.Release("web", 2, helmrelease.StatusPendingUpgrade, configMap("web", `"2"`))
	})
	f.edit("web", "2")
	f.awaitData("web", "1")
	f.Release("web", 2, helmrelease.StatusFailed, configMap("web", `"2"`))
	f.awaitData("web", "2")
	f.awaitCondition("web", v1alpha1.ConditionReady, v1alpha1.ReasonNotDeployed)
}

func TestHelmBeginsDuringACreation(t *testing.T) {
	for name, removed := range map[string]bool{"and declares the object": false, "and removes the object": true} {
		t.Run(name, func(t *testing.T) {
			f := lockedWeb(t)
			f.Deploy("web", configMap("other", `"1"`))
			manifest := configMap("web", `"1"`)
			if removed {
				manifest = configMap("other", `"1"`)
			}
			f.during(http.MethodPost, func() {
				f.Release("web", 2, helmrelease.StatusPendingUpgrade, manifest)
			})
			f.Delete(configMaps + "web")
			f.awaitCondition("web", v1alpha1.ConditionReady, v1alpha1.ReasonTransitioning)
			f.Release("web", 2, helmrelease.StatusDeployed, manifest)
			f.awaitCondition("web", v1alpha1.ConditionReady, v1alpha1.ReasonLocked)
			want := "1"
			if removed {
				want = "-"
			}
			f.awaitData("web", want)
		})
	}
}

func TestARemovedObjectThatIsBackIsPruned(t *testing.T) {
	f := newFixture(t)
	f.Deploy("web", configMap("old", `"1"`))
	f.Deploy("web", configMap("web", `"1"`))
	f.Release("web", 1, helmrelease.StatusSuperseded, configMap("web", `"1"`)+"---\n"+configMap("old", `"1"`))
	f.Release("web", 2, helmrelease.StatusDeployed, configMap("web", `"1"`))
	f.start()
	f.lock("web")
	f.awaitData("old", "-")
	f.awaitCondition("web", v1alpha1.ConditionReady, v1alpha1.ReasonLocked)
}

func TestAnImmutableFieldIsReplaced(t *testing.T) {
	const path = "/apis/apps/v1/namespaces/apps/deployments/web"
	manifest := func(app string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 1, selector: {matchLabels: {app: " +
			app + "}}}\n"
	}
	f := newFixture(t)
	f.Refuse(func(r fakeapi.Request) *apierrors.StatusError {
		if r.Method == http.MethodPatch && strings.HasSuffix(r.Path, "/deployments/web") {
			return apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "web", nil)
		}
		return nil
	})
	f.start()
	f.Deploy("web", manifest("web"))
	f.Release("web", 1, helmrelease.StatusDeployed, manifest("web"))
	f.lock("web")
	f.awaitCondition("web", v1alpha1.ConditionReady, v1alpha1.ReasonLocked)
	before := f.Get(path).GetUID()
	f.Deploy("web", manifest("other"))
	f.awaitCondition("web", v1alpha1.ConditionReady, v1alpha1.ReasonRevertFailed)
	f.lock("web", func(hr *v1alpha1.HelmRelease) { hr.Spec.ReplaceImmutable = true })
	f.Await("replaced", path, func(o *unstructured.Unstructured) bool {
		if o == nil || o.GetUID() == before {
			return false
		}
		app, _, err := unstructured.NestedString(o.Object, "spec", "selector", "matchLabels", "app")
		return err == nil && app == "web"
	})
}

func TestAStorm(t *testing.T) {
	const releases, each = 12, 25
	f := newFixture(t)
	f.start()
	name := func(r, n int) string { return fmt.Sprintf("r%d-%d", r, n) }
	for r := range releases {
		manifest := ""
		for n := range each {
			f.Deploy(fmt.Sprint("r", r), configMap(name(r, n), `"1"`))
			manifest += "---\n" + configMap(name(r, n), `"1"`)
		}
		f.Release(fmt.Sprint("r", r), 1, helmrelease.StatusDeployed, manifest)
		f.lock(fmt.Sprint("r", r))
	}
	for r := range releases {
		f.awaitCondition(fmt.Sprint("r", r), v1alpha1.ConditionReady, v1alpha1.ReasonLocked)
	}
	for r := range releases {
		for n := range each {
			f.edit(name(r, n), "2")
		}
	}
	for r := range releases {
		for n := range each {
			f.awaitData(name(r, n), "1")
		}
	}
}

func TestAMissingNamespaceDoesNotEndWhatIsKnownOfKinds(t *testing.T) {
	f := lockedWeb(t)
	f.Delete(configMaps + "web")
	f.awaitData("web", "1") // by now all that is asked for once is known
	before, attempts := f.Discoveries(), make(chan struct{}, 100)
	f.Refuse(func(r fakeapi.Request) *apierrors.StatusError {
		if r.Method != http.MethodPost || !strings.Contains(r.Path, "/configmaps") {
			return nil
		}
		attempts <- struct{}{}
		return apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, apps)
	})
	f.Delete(configMaps + "web")
	for range 3 {
		<-attempts
	}
	if now := f.Discoveries(); now != before {
		t.Errorf("discovery was asked for %d times", now-before)
	}
	f.Refuse(nil)
	f.awaitData("web", "1")
}

// A dry run that meets another writer says nothing about the object: it is read again before anything is written.
func TestADryRunThatConflictsIsMadeAgain(t *testing.T) {
	f := newFixture(t)
	f.Deploy("web", configMap("web", `"2"`)) // differs when it is judged for the first time
	f.Release("web", 1, helmrelease.StatusDeployed, configMap("web", `"1"`))
	var dryRuns, early atomic.Int32
	f.Refuse(func(r fakeapi.Request) *apierrors.StatusError {
		switch {
		case r.Method != http.MethodPatch || !strings.Contains(r.Path, "/configmaps/"):
		case r.DryRun && dryRuns.Add(1) == 1:
			return apierrors.NewConflict(schemaOf("configmaps"), "web", errors.New("modified"))
		case !r.DryRun && dryRuns.Load() < 2:
			early.Add(1)
		}
		return nil
	})
	f.start()
	f.lock("web")
	f.awaitData("web", "1")
	if n := early.Load(); n > 0 {
		t.Errorf("%d writes before an answer", n)
	}
}
