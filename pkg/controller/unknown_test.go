package controller_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	helmrelease "helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/fakeapi"
)

const widgets = "/apis/example.com/v1/namespaces/" + apps + "/widgets/"

// widget is the manifest of a Widget, in the release's namespace because it names none.
func widget(version, name string, size int) string {
	return fmt.Sprintf("apiVersion: example.com/%s\nkind: Widget\nmetadata: {name: %s}\nspec: {size: %d}\n",
		version, name, size)
}

func join(documents ...string) string { return strings.Join(documents, "---\n") }

// The definition of a kind was replaced by an older one, so the version that the newest revision declares is not
// served. The object is no prune candidate because an earlier revision declares it at the version that is.
func TestI2_ObjectDeclaredAtAVersionThatIsNotServedIsNotPruned(t *testing.T) {
	f := newFixture(t)
	f.Serve(fakeapi.NewKind("example.com", "v1", "widgets", "Widget", true))
	f.Deploy("web", configMap("web", `"1"`))
	f.Deploy("web", configMap("old", `"1"`))
	f.Deploy("web", widget("v1", "web", 1))
	f.Release("web", 1, helmrelease.StatusSuperseded,
		join(configMap("web", `"1"`), configMap("old", `"1"`), widget("v1", "web", 1)))
	f.Release("web", 2, helmrelease.StatusDeployed, join(configMap("web", `"1"`), widget("v2", "web", 1)))
	log := f.start()
	f.lock("web")
	f.awaitCondition("web", v1alpha1.ConditionReady, v1alpha1.ReasonWaitingForKind)
	log.await("are not pruned")
	for _, path := range []string{"/configmaps/", "/widgets/"} {
		if writes := f.Writes(path); len(writes) > 0 {
			t.Errorf("while a kind is not known: %v", writes)
		}
	}
	f.Serve(fakeapi.NewKind("example.com", "v2", "widgets", "Widget", true))
	f.Deploy("web", widget("v2", "web", 1))
	f.defineWidgets("v2")
	f.awaitData("old", "-")
	f.awaitCondition("web", v1alpha1.ConditionReady, v1alpha1.ReasonLocked)
	if writes := f.Writes("/widgets/"); len(writes) > 0 {
		t.Errorf("when all kinds are known: %v", writes)
	}
}

// An earlier revision can declare an object of a known kind under the name of an unserved kind, or declare that it has
// to be kept.
func TestI2_NothingIsPrunedWhileAKindOfAnEarlierRevisionIsNotKnown(t *testing.T) {
	f := newFixture(t)
	f.Deploy("web", configMap("web", `"1"`))
	f.Deploy("web", configMap("old", `"1"`))
	f.Release("web", 1, helmrelease.StatusSuperseded,
		join(configMap("web", `"1"`), configMap("old", `"1"`), widget("v1", "web", 1)))
	f.Release("web", 2, helmrelease.StatusDeployed, configMap("web", `"1"`))
	log := f.start()
	f.lock("web")
	log.await("are not pruned")
	f.awaitCondition("web", v1alpha1.ConditionReady, v1alpha1.ReasonLocked)
	if writes := f.Writes("/configmaps/"); len(writes) > 0 {
		t.Errorf("while a kind is not known: %v", writes)
	}
	f.Serve(fakeapi.NewKind("example.com", "v1", "widgets", "Widget", true))
	f.defineWidgets("v1")
	f.awaitData("old", "-")
}

// An aggregated API server is down when the newest revision is read, and back when an earlier one is.
func TestI2_AggregatedKindThatIsBackWhileTheHistoryIsReadIsNotPruned(t *testing.T) {
	f := newFixture(t)
	f.Deploy("web", configMap("web", `"1"`))
	f.Deploy("web", configMap("old", `"1"`))
	f.Release("web", 1, helmrelease.StatusSuperseded,
		join(configMap("web", `"1"`), configMap("old", `"1"`), widget("v1", "web", 1)))
	f.Release("web", 2, helmrelease.StatusDeployed, join(configMap("web", `"1"`), widget("v1", "web", 1)))
	f.Release("other", 1, helmrelease.StatusDeployed, "apiVersion: example.org/v1\nkind: Never\nmetadata: {name: other}\n")
	reading, back := make(chan struct{}), make(chan struct{})
	var once sync.Once
	f.Refuse(func(r fakeapi.Request) *apierrors.StatusError {
		if r.Method == http.MethodGet && strings.HasSuffix(r.Path, "/sh.helm.release.v1.web.v1") {
			once.Do(func() { close(reading) })
			<-back
		}
		return nil
	})
	log := f.start()
	f.lock("other")
	f.lock("web")
	f.awaitCondition("web", v1alpha1.ConditionReady, v1alpha1.ReasonWaitingForKind)
	<-reading
	f.Serve(fakeapi.NewKind("example.com", "v1", "widgets", "Widget", true))
	f.Deploy("web", widget("v1", "web", 1))
	// The other release has the kinds discovered again, which this one does not hear of.
	before := f.Discoveries()
	for n := 0; f.Discoveries() == before; n++ {
		f.lock("other", func(hr *v1alpha1.HelmRelease) { hr.Annotations = map[string]string{"n": fmt.Sprint(n)} })
		<-time.After(50 * time.Millisecond) // the kinds are discovered once in a second
	}
	close(back)
	log.await("are not pruned")
	f.defineWidgets("v1")
	f.awaitData("old", "-")
	f.awaitCondition("web", v1alpha1.ConditionReady, v1alpha1.ReasonLocked)
	if writes := f.Writes("/widgets/"); len(writes) > 0 {
		t.Errorf("it was not left alone: %v", writes)
	}
}

// Helm begins to work while an object is re-created, and declares it at a version that is not served. It stays. An
// object that Helm does not declare is taken back as ever.
func TestI2_RecreatedObjectDeclaredAtAVersionThatIsNotServedIsNotTakenBack(t *testing.T) {
	f := newFixture(t)
	f.Serve(fakeapi.NewKind("example.com", "v1", "widgets", "Widget", true))
	f.Deploy("web", configMap("web", `"1"`))
	f.Deploy("web", widget("v1", "web", 1))
	f.Release("web", 1, helmrelease.StatusDeployed, join(configMap("web", `"1"`), widget("v1", "web", 1)))
	f.start()
	f.lock("web")
	f.awaitCondition("web", v1alpha1.ConditionReady, v1alpha1.ReasonLocked)
	second := widget("v2", "web", 1)
	var arrived sync.WaitGroup
	arrived.Add(2)
	var config, custom, helm sync.Once
	f.Refuse(func(r fakeapi.Request) *apierrors.StatusError {
		if r.Method != http.MethodPost || r.DryRun {
			return nil
		}
		switch {
		case strings.Contains(r.Path, "/configmaps"):
			config.Do(arrived.Done)
		case strings.Contains(r.Path, "/widgets"):
			custom.Do(arrived.Done)
		default:
			return nil
		}
		arrived.Wait()
		helm.Do(func() { f.Release("web", 2, helmrelease.StatusPendingUpgrade, second) })
		return nil
	})
	f.Delete(configMaps + "web")
	f.Delete(widgets + "web")
	f.Await("re-created", widgets+"web", func(o *unstructured.Unstructured) bool { return o != nil })
	f.awaitCondition("web", v1alpha1.ConditionReady, v1alpha1.ReasonTransitioning)
	f.awaitData("web", "-")
	f.Release("web", 1, helmrelease.StatusSuperseded, join(configMap("web", `"1"`), widget("v1", "web", 1)))
	f.Release("web", 2, helmrelease.StatusDeployed, second)
	f.awaitCondition("web", v1alpha1.ConditionReady, v1alpha1.ReasonWaitingForKind)
	for _, w := range f.Writes("/widgets/") {
		if w.Method == http.MethodDelete {
			t.Error("it was taken back")
		}
	}
}

// Another release takes an object over and declares it at a version that is not served.
func TestI2_ObjectTakenOverAtAVersionThatIsNotServedIsLeftAlone(t *testing.T) {
	f := newFixture(t)
	f.Serve(fakeapi.NewKind("example.com", "v1", "widgets", "Widget", true))
	f.Deploy("web", widget("v1", "web", 1))
	f.Release("web", 1, helmrelease.StatusDeployed, widget("v1", "web", 1))
	f.start()
	f.lock("web")
	f.awaitCondition("web", v1alpha1.ConditionReady, v1alpha1.ReasonLocked)
	f.Release("api", 1, helmrelease.StatusDeployed, widget("v2", "web", 2))
	f.Deploy("api", widget("v1", "web", 2))
	f.awaitCondition("web", v1alpha1.ConditionReady, v1alpha1.ReasonConflict)
	if writes := f.Writes("/widgets/"); len(writes) > 0 {
		t.Errorf("the take-over was undone: %v", writes)
	}
}

// defineWidgets puts a definition of Widgets.
func (f *fixture) defineWidgets(version string) {
	f.Helper()
	f.Put(f.Object(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition,
  metadata: {name: widgets.example.com}, spec: {group: example.com, names: {kind: Widget, plural: widgets}, versions: [{
  name: ` + version + `, served: true, schema: {openAPIV3Schema: {type: object}}}]}}`))
}
