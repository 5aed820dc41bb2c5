package policy

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/crd"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// Of two policies the more specific has a release; the release moves to the other one, and back, without being
// unlocked.
func TestPolicy_TheMoreSpecificWins(t *testing.T) {
	f := newFixture(t)
	f.deploy("one", nil)
	f.deploy("two", nil)
	f.create("broad", `{match: {namespaces: ["APPS*"]}}`)
	before := f.waitMade("one", "two")
	f.create("narrow", `{match: {namespaces: [APPS], releases: [one]}, template: {spec: {scope: Strict}}}`)
	owner := func(want string) {
		f.Helper()
		f.Until("one is the policy's: "+want, func() (any, bool) {
			hr := f.HelmRelease(f.name("one"))
			owner := metav1.GetControllerOf(hr)
			return owner, owner != nil && owner.Name == want && len(hr.OwnerReferences) == 1 && hr.UID == before[0].UID
		})
	}
	owner("narrow")
	f.Until("the other one says so", func() (any, bool) {
		p := f.policy("broad")
		c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionOverlapping)
		return p.Status, c != nil && c.Reason == v1alpha1.ReasonOtherPolicy && p.Status.Releases.OtherPolicy == 1 &&
			p.Status.Releases.Made == 1
	})
	f.waitPolicy("broad", v1alpha1.ReasonApplied)
	f.waitPolicy("narrow", v1alpha1.ReasonApplied)
	f.settled()
	f.patchPolicy("narrow", `{"spec":{"match":{"releases":["three"]}}}`)
	owner("broad")
	f.settled()
}

// A user's HelmRelease has the release, whether it is older or younger than the policy.
func TestPolicy_HandWrittenWins(t *testing.T) {
	f := newFixture(t)
	f.deploy("before", nil)
	f.deploy("later", nil)
	f.Lock("before")
	f.create("all", `{match: {namespaces: [APPS]}}`)
	made := f.name("later")
	f.waitLocked(made)
	f.Lock("later")
	f.Until("the policy's is gone", func() (any, bool) {
		all := f.helmReleases()
		return all, len(all) == 2 && all[0].Name == "before" && all[1].Name == "later"
	})
	f.Reverts("later", "1")
	f.waitCounts("all", func(c v1alpha1.PolicyCounts) bool { return c.HandWritten == 2 && c.Made == 0 })
	f.waitPolicy("all", v1alpha1.ReasonApplied)
	f.settled()
	f.DeleteHelmRelease("later")
	f.waitLocked(made)
}

// A HelmRelease without its ownerReference is the user's, and stays when the policy is deleted.
func TestPolicy_WithoutOwnerItIsTheUsers(t *testing.T) {
	f := newFixture(t)
	f.deploy("one", nil)
	f.create("all", `{match: {namespaces: [APPS]}}`)
	name := f.waitMade("one")[0].Name
	f.PatchIn(kit.HelmReleases, f.Operator, name, `{"metadata":{"ownerReferences":null}}`)
	f.waitCounts("all", func(c v1alpha1.PolicyCounts) bool { return c.HandWritten == 1 })
	f.deletePolicy("all")
	f.settled()
	f.waitMade("one")
}

func TestPolicy_SaysWhenTheNameIsTaken(t *testing.T) {
	f := newFixture(t)
	f.deploy("one", nil)
	f.CreateHelmRelease(f.name("one"), func(hr *v1alpha1.HelmRelease) { hr.Spec.Release.Name = "other" })
	f.create("all", `{match: {namespaces: [APPS]}}`)
	f.waitPolicy("all", v1alpha1.ReasonNameTaken)
	f.DeleteHelmRelease(f.name("one"))
	f.waitLocked(f.name("one"))
}

// Beyond maxReleases nothing is locked and the condition reports that. A namespace full of records takes only its
// share.
func TestPolicy_Bound(t *testing.T) {
	f := newFixture(t)
	for i := range 4 {
		f.deploy(fmt.Sprintf("r%d", i), nil)
	}
	f.create("all", `{match: {namespaces: ["APPS*"]}, maxReleases: 2}`)
	f.waitPolicy("all", v1alpha1.ReasonTooManyReleases)
	f.waitMade("r0", "r1")
	f.deploy("a", nil) // first by name, and too late
	f.waitCounts("all", func(c v1alpha1.PolicyCounts) bool { return c.OverBound == 3 && c.Matched == 5 })
	f.waitMade("r0", "r1")
	f.settled()

	f.At(f.Namespace(f.Apps + "-too")).Forge(kit.ForgedRecord{Name: "fair", Manifest: kit.ConfigMap("fair", "1")})
	f.Until("the neighbour has its share", func() (any, bool) {
		got := names(f.helmReleases())
		return got, slices.Equal(got, []string{"fair", "r0"})
	})
	f.patchPolicy("all", `{"spec":{"maxReleases":10}}`)
	f.waitPolicy("all", v1alpha1.ReasonApplied)
	got := len(f.helmReleases())
	check.That(t, got == 6, "%d HelmReleases", got)
}

// Operators without the CustomResourceDefinition of policies run; policies work as soon as there is one.
func TestPolicy_TheDefinitionMayComeLater(t *testing.T) {
	t.Parallel()
	e := kit.New(t, cluster.ForTest(t, cluster.Options{}))
	e.Kubectl("delete", "crd", "helmreleasepolicies.helm.cattle.io")
	f := &fixture{&kit.Fixture{Env: e, Proxy: e.NewProxy()}}
	f.Running = kit.StartWithPolicies(t, f.Proxy.RESTConfig(), e.Operator,
		func(o *operator.ControllerOptions) { o.SkipCRD = true })
	f.deploy("hand", nil)
	f.Lock("hand")
	f.deploy("one", nil)
	check.NoError(t, crd.Create(f.Ctx, f.Cluster.RESTConfig()))
	f.create("all", `{match: {namespaces: [APPS], releases: [one]}}`)
	f.waitLocked(f.name("one"))
}
