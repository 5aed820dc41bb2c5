package policy

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// waitRolled waits until so many releases are enforced and held.
func (f *fixture) waitRolled(enforced, held int) *v1alpha1.RolloutStatus {
	f.Helper()
	var r *v1alpha1.RolloutStatus
	f.Until(fmt.Sprintf("%d enforced and %d held", enforced, held), func() (any, bool) {
		r = f.policy("all").Status.Rollout
		return r, r != nil && r.Enforced == enforced && r.Held == held && len(f.enforced()) == enforced
	})
	return r
}

// stays fails the test unless the ConfigMaps of releases have a value.
func (f *fixture) stays(value string, names ...string) {
	f.Helper()
	for _, name := range names {
		if got := kit.Field(f.Get(kit.ConfigMaps, name), "data.key"); got != value {
			f.Errorf("%s: %v, want %s", name, got, value)
		}
	}
}

// A rollout begins with releases without drift. It holds the others through restarts and new revisions, until a user
// agrees to the revert, the drift is over, or the policy has drifted: Revert.
func TestPolicy_RolloutHoldsReleasesWithDrift(t *testing.T) {
	f := newFixture(t)
	helm := kit.Shared.Helm3()
	drifted := []string{"r0", "r1", "r2", "r3"}
	for _, name := range append(drifted, "r4") {
		f.Helm(helm, "install", name, f.Chart(name, kit.ConfigMap(name, "1")))
	}
	for _, name := range drifted {
		f.Patch(kit.ConfigMaps, name, `{"data":{"key":"hotfix"}}`)
	}
	f.create("all", `{match: {namespaces: [APPS]}, rollout: {interval: 1m}}`)
	r := f.waitRolled(1, 4)
	moved := f.enforced()[0]
	check.That(t,
		moved.Name == f.name("r4") && r.State == v1alpha1.RolloutProgressing &&
			strings.Contains(r.Message, "4 held because of drift ("+f.Apps+"/r0, "), "%s moved: %+v", moved.Name, r)
	f.WaitReady(f.name("r4"), 1)
	f.Reverts("r4", "1")
	since := func(name string) string {
		return f.HelmRelease(f.name(name)).Annotations[v1alpha1.HeldSinceAnnotation]
	}
	before := since("r3")

	f.Running.Stop()
	f.Running = kit.StartWithPolicies(t, f.Proxy.RESTConfig(), f.Operator)
	f.Forge(kit.ForgedRecord{Name: "r3", Revision: 2, Manifest: kit.ConfigMap("r3", "1")}) // Helm writes no object
	f.Until("the drift of the new revision is held", func() (any, bool) {
		r := f.policy("all").Status.Rollout
		s := f.helmReleases()[3].Status
		return s, s.Version == 2 && s.Objects.Drifted == 1 && r.Held == 4
	})
	f.settled()
	f.stays("hotfix", drifted...)
	after := since("r3")
	check.That(t, after == before && before != "", "held since %q, and after a restart and a new revision since %q",
		before, after)

	agree := func(name, revision string) {
		f.PatchIn(kit.HelmReleases, f.Operator, f.name(name), fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`,
			v1alpha1.EnforceRevisionAnnotation, revision))
	}
	agree("r3", "1") // not the revision that is deployed
	agree("r0", "1")
	f.waitRolled(2, 3)
	f.WaitField(kit.ConfigMaps, "r0", "data.key", "1")
	left := f.HelmRelease(f.name("r0")).Annotations
	check.That(t, left[v1alpha1.EnforceRevisionAnnotation] == "" && left[v1alpha1.HeldSinceAnnotation] == "",
		"after the move: %v", left)
	f.Helm(helm, "upgrade", "r1", f.Chart("r1", kit.ConfigMap("r1", "hotfix"))) // it is no drift any more
	f.waitRolled(3, 2)
	f.settled()
	f.stays("hotfix", "r1", "r2", "r3")
	f.holdsOnce()
	f.patchPolicy("all", `{"spec":{"rollout":{"drifted":"Revert"}}}`)
	f.waitRollout("all", v1alpha1.RolloutComplete)
	f.WaitField(kit.ConfigMaps, "r2", "data.key", "1")
	f.WaitField(kit.ConfigMaps, "r3", "data.key", "1")
}

// holdsOnce waits for the event of the hold, and fails the test if there are several.
func (f *fixture) holdsOnce() {
	f.Helper()
	f.Until("one event about the hold", func() (any, bool) {
		events, err := f.Kube.CoreV1().Events(f.Operator).List(f.Ctx, metav1.ListOptions{
			FieldSelector: "reason=" + v1alpha1.EventReasonRolloutHeld + ",involvedObject.name=all"})
		check.NoError(f, err)
		count := 0
		for i := range events.Items {
			count += max(1, int(events.Items[i].Count))
		}
		return events.Items, count == 1
	})
}
