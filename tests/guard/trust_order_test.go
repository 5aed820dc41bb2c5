package guard

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// These are counterexamples of tests/model/trust.pml for an operator without a part of its rules.

// first is a manifest with a ClusterRole, and second that of the revision without it.
func (f *trusting) first() string { return kit.ConfigMap("settings", "declared") + f.clusterRole() }

func (f *trusting) second() string { return kit.ConfigMap("settings", "unseen") }

// deployed has a user with the rights deploy the first manifest as revision 1.
func (f *trusting) deployed(name string) {
	f.Helper()
	f.track(name)
	f.Forge(kit.ForgedRecord{Name: name, Manifest: f.first()})
	f.WaitReady(name, 1)
}

// dropRole deletes the ClusterRole, as Helm does for the second manifest.
func (f *trusting) dropRole() {
	f.Helper()
	err := f.Kube.RbacV1().ClusterRoles().Delete(f.Ctx, "reader-of-"+f.Apps, metav1.DeleteOptions{})
	if !apierrors.IsNotFound(err) {
		check.NoError(f, err)
	}
}

// staysDropped fails the test if the ClusterRole exists.
func (f *trusting) staysDropped() {
	f.Helper()
	if _, exists := f.hasRole(); exists {
		f.Error("the ClusterRole is restored for a user without the rights")
	}
}

// After an upgrade that no operator witnessed, no manifest is compared with that of the revision before it: the next
// writer could undo the upgrade.
func TestI14_ARevisionAfterAnUnwitnessedOneIsNotComparedWithAnOlderOne(t *testing.T) {
	t.Parallel()
	f := newWitnessing(t)
	me := "mallory-of-" + f.Apps
	for name, attack := range map[string]func(name string) int{
		"next": func(name string) int {
			f.mallory.Forge(kit.ForgedRecord{Name: name, Revision: 3, Manifest: f.first()})
			return 3
		},
		"same": func(name string) int {
			f.mallory.Forge(kit.ForgedRecord{Name: name, Revision: 2, Manifest: f.first()})
			return 2
		},
		"half": func(name string) int { // the creation of the upgrade's record was witnessed
			f.mallory.Forge(kit.ForgedRecord{Name: name, Revision: 2, Manifest: f.first()})
			return 2
		},
		"failed": func(name string) int {
			f.mallory.Forge(kit.ForgedRecord{Name: name, Revision: 2, Status: "failed", Manifest: f.first()})
			f.mallory.Forge(kit.ForgedRecord{Name: name, Revision: 2, Manifest: f.first()})
			return 2
		},
		"gone": func(name string) int {
			f.mallory.Forge(kit.ForgedRecord{Name: name, Manifest: f.first()})
			return 1
		},
	} {
		f.deployed(name)
		if name == "half" {
			f.Forge(kit.ForgedRecord{Name: name, Revision: 2, Status: "pending-upgrade", Manifest: f.second()})
		}
		f.front.to("")
		f.Forge(kit.ForgedRecord{Name: name, Status: "superseded", Manifest: f.first()})
		f.Forge(kit.ForgedRecord{Name: name, Revision: 2, Manifest: f.second()})
		f.doubted(name, 2)
		f.dropRole()
		if name == "gone" {
			f.deleteRecord(f.mallory, name, 2)
		}
		f.front.to(f.guardAddress(f.Running))
		f.doubted(name, attack(name), me)
		f.staysDropped()
		f.DeleteHelmRelease(name)
		check.NoError(t, f.Kube.CoreV1().ConfigMaps(f.Apps).Delete(f.Ctx, "settings", metav1.DeleteOptions{}))
	}
}

// While a webhook asks for the rights of a writer, the release is uninstalled: the decision is not about what it was.
func TestI14_ADecisionIsByTheNewestTrust(t *testing.T) {
	t.Parallel()
	f := newWitnessing(t)
	f.deployed("app")
	held := f.Proxy.HoldRequests(cluster.ForResource("subjectaccessreviews", http.MethodPost))
	var writing sync.WaitGroup
	writing.Go(func() {
		f.mallory.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Manifest: kit.ConfigMap("settings", "changed") +
			f.clusterRole()})
	})
	check.NoError(t, held.Wait(f.Ctx, 1))
	f.deleteRecord(f.Env, "app", 1)
	f.dropRole()
	held.Release()
	writing.Wait()
	f.doubted("app", 2)
	f.staysDropped()
}

// Before Helm deletes the objects of a release, they are as a forged record declares them.
func TestI14_ARecordIsNotTrustedWhileHelmUninstalls(t *testing.T) {
	t.Parallel()
	f := newWitnessing(t)
	f.deployed("app")
	f.Forge(kit.ForgedRecord{Name: "app", Status: "uninstalling", Manifest: f.first()})
	f.mallory.Forge(kit.ForgedRecord{Name: "app", Manifest: f.first()})
	f.doubted("app", 1, "mallory-of-"+f.Apps)
	f.deleteRecord(f.mallory, "app", 1)
	f.mallory.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Manifest: f.first()})
	f.doubted("app", 2, "mallory-of-"+f.Apps)
	f.dropRole()
	f.deleteRecord(f.Env, "app", 2)
	f.WaitReason("app", v1alpha1.ConditionLocked, v1alpha1.ReasonSecretNotFound)
	f.staysDropped()

	// The release is uninstalled, and its next record may be unwitnessed.
	f.front.to("")
	f.Forge(kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("settings", "declared")})
	f.WaitReady("app", 1)
	f.trust("app", v1alpha1.TrustStateTrusted, v1alpha1.TrustAsDeclared, "")
}

// The objects were as an unwitnessed record declares. Before the operator stores that, Helm deploys another one.
func TestI14_AComparisonIsForTheTrustThatItBeganWith(t *testing.T) {
	t.Parallel()
	f := newWitnessing(t)
	f.deployed("app")
	reached, release := make(chan struct{}), make(chan struct{})
	var taken atomic.Bool
	f.Proxy.Intercept(func(r *http.Request) cluster.Action {
		isTrust := r.Method == http.MethodPut && strings.Contains(r.URL.Path, "-trust-")
		if isTrust && taken.CompareAndSwap(false, true) {
			close(reached)
			<-release
		}
		return cluster.Forward()
	})
	address := f.guardAddress(f.Running)
	f.front.to("")
	f.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Manifest: f.first() + "---\n"})
	<-reached
	f.front.to(address)
	f.Forge(kit.ForgedRecord{Name: "app", Revision: 3, Manifest: f.second()})
	f.dropRole()
	f.deleteRecord(f.mallory, "app", 3)
	close(release)
	f.doubted("app", 2)
	f.staysDropped()
}
