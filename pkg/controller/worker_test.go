package controller_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	helmrelease "helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/fakeapi"
)

func TestReleaseIsLockedAndDriftIsReverted(t *testing.T) {
	f := lockedWeb(t)
	if writes := f.Writes("/configmaps/"); len(writes) > 0 {
		t.Errorf("locking wrote %v", writes)
	}
	f.edit("web", "2")
	f.awaitData("web", "1")
	f.Delete(configMaps + "web")
	f.awaitData("web", "1")
}

func TestDetectReportsAndWritesNothing(t *testing.T) {
	f := newFixture(t)
	f.start()
	f.deployed("web", func(hr *v1alpha1.HelmRelease) { hr.Spec.Mode = v1alpha1.ModeDetect })
	f.awaitCondition("web", v1alpha1.ConditionReady, v1alpha1.ReasonDetectOnly)
	f.edit("web", "2")
	f.awaitCondition("web", v1alpha1.ConditionReady, v1alpha1.ReasonDriftDetected)
	if writes := f.Writes("/configmaps/"); len(writes) > 0 {
		t.Errorf("detecting wrote %v", writes)
	}
}

func TestUpgradeRelocksAndPrunes(t *testing.T) {
	f := newFixture(t)
	f.start()
	f.Deploy("web", configMap("old", `"1"`))
	f.Deploy("web", configMap("web", `"1"`))
	f.Release("web", 1, helmrelease.StatusDeployed, configMap("web", `"1"`)+"---\n"+configMap("old", `"1"`))
	f.lock("web")
	f.awaitCondition("web", v1alpha1.ConditionReady, v1alpha1.ReasonLocked)
	// An upgrade deletes old, which is re-created by somebody after it.
	f.Release("web", 2, helmrelease.StatusPendingUpgrade, configMap("web", `"2"`))
	f.awaitCondition("web", v1alpha1.ConditionReady, v1alpha1.ReasonTransitioning)
	f.Delete(configMaps + "old")
	f.edit("web", "2")
	f.Release("web", 1, helmrelease.StatusSuperseded, configMap("web", `"1"`)+"---\n"+configMap("old", `"1"`))
	f.Release("web", 2, helmrelease.StatusDeployed, configMap("web", `"2"`))
	f.awaitCondition("web", v1alpha1.ConditionReady, v1alpha1.ReasonLocked)
	f.edit("web", "1")
	f.awaitData("web", "2")
	if f.Get(configMaps+"old") != nil {
		t.Error("what the upgrade deleted was re-created")
	}
}

func TestUninstallAndDeletionUnlock(t *testing.T) {
	f := newFixture(t)
	f.start()
	f.deployed("web")
	f.deployed("api")
	f.awaitCondition("web", v1alpha1.ConditionReady, v1alpha1.ReasonLocked)
	f.awaitCondition("api", v1alpha1.ConditionReady, v1alpha1.ReasonLocked)
	if _, err := f.Records.Delete("web", 1); err != nil {
		t.Fatal(err)
	}
	f.awaitCondition("web", v1alpha1.ConditionReady, v1alpha1.ReasonSecretNotFound)
	f.Delete(hlr + "api")
	f.lock("web", func(hr *v1alpha1.HelmRelease) { hr.Spec.Suspend = true })
	f.awaitCondition("web", v1alpha1.ConditionLocked, v1alpha1.ReasonSecretNotFound)
}

func TestAFailedRevertIsToldAndTriedAgain(t *testing.T) {
	f := lockedWeb(t)
	f.Refuse(func(r fakeapi.Request) *apierrors.StatusError {
		if r.Method == http.MethodPatch && strings.Contains(r.Path, "/configmaps/") {
			return apierrors.NewForbidden(schemaOf("configmaps"), "web", nil)
		}
		return nil
	})
	f.edit("web", "2")
	f.awaitCondition("web", v1alpha1.ConditionReady, v1alpha1.ReasonForbidden)
	f.Refuse(nil)
	f.edit("web", "3")
	f.awaitData("web", "1")
	f.awaitCondition("web", v1alpha1.ConditionReady, v1alpha1.ReasonLocked)
}

func TestOfTwoReleasesTheFirstKeepsAnObject(t *testing.T) {
	f := lockedWeb(t)
	f.Release("other", 1, helmrelease.StatusDeployed, configMap("web", `"7"`))
	f.lock("other")
	f.awaitCondition("other", v1alpha1.ConditionReady, v1alpha1.ReasonConflict)
	f.edit("web", "2")
	f.awaitData("web", "1")
	f.Delete(hlr + "web")
	f.Deploy("other", configMap("web", `"7"`))
	f.awaitCondition("other", v1alpha1.ConditionReady, v1alpha1.ReasonLocked)
}

func TestOfTwoHelmReleasesTheFirstLocks(t *testing.T) {
	f := lockedWeb(t)
	f.lock("second", func(hr *v1alpha1.HelmRelease) { hr.Spec.Release.Name = "web" })
	f.awaitCondition("second", v1alpha1.ConditionReady, v1alpha1.ReasonConflict)
	f.Delete(hlr + "web")
	f.awaitCondition("second", v1alpha1.ConditionReady, v1alpha1.ReasonLocked)
}

func TestAPendingDeletionIsDrift(t *testing.T) {
	f := lockedWeb(t)
	o := f.Get(configMaps + "web")
	o.SetFinalizers([]string{"example.com/keep"})
	f.Put(o.Object)
	f.Delete(configMaps + "web")
	f.awaitCondition("web", v1alpha1.ConditionReady, v1alpha1.ReasonBeingDeleted)
	o = f.Get(configMaps + "web")
	o.SetFinalizers(nil)
	f.Put(o.Object)
	f.Await("re-created", configMaps+"web", func(now *unstructured.Unstructured) bool {
		return now != nil && now.GetUID() != o.GetUID()
	})
}

// A large object from a watch is not kept while it waits for its turn: it is read again then.
func TestLargeObjectsAreReadWhenItIsTheirTurn(t *testing.T) {
	f := newFixture(t)
	var read sync.Map
	f.Refuse(func(r fakeapi.Request) *apierrors.StatusError {
		if r.Method == http.MethodGet {
			read.Store(r.Path, true)
		}
		return nil
	})
	f.start()
	f.deployed("large")
	f.deployed("small")
	f.awaitCondition("large", v1alpha1.ConditionReady, v1alpha1.ReasonLocked)
	f.awaitCondition("small", v1alpha1.ConditionReady, v1alpha1.ReasonLocked)
	f.edit("large", strings.Repeat("x", 100<<10))
	f.edit("small", "2")
	f.awaitData("large", "1")
	f.awaitData("small", "1")
	if _, ok := read.Load(configMaps + "large"); !ok {
		t.Error("the large object was kept")
	}
	if _, ok := read.Load(configMaps + "small"); ok {
		t.Error("the small object was read again")
	}
}
