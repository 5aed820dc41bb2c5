package policy

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// An operator is killed while it writes a HelmRelease, before the API server has it or after. The next one finishes
// the work; nothing is created twice, and unwanted HelmReleases are deleted.
func TestPolicy_RestartAtAnyStep(t *testing.T) {
	for name, tc := range map[string]struct {
		method string
		hold   func(*cluster.Proxy, cluster.Match) *cluster.Hold
	}{
		"before a creation": {http.MethodPost, (*cluster.Proxy).HoldRequests},
		"after a creation":  {http.MethodPost, (*cluster.Proxy).HoldAnswers},
		"before a change":   {http.MethodPatch, (*cluster.Proxy).HoldRequests},
		"after a change":    {http.MethodPatch, (*cluster.Proxy).HoldAnswers},
		"before a deletion": {http.MethodDelete, (*cluster.Proxy).HoldRequests},
		"after a deletion":  {http.MethodDelete, (*cluster.Proxy).HoldAnswers},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.deploy("one", nil)
			f.deploy("two", nil)
			f.create("all", `{match: {namespaces: [APPS]}}`)
			f.waitMade("one", "two")
			f.waitLocked(f.name("one"))
			f.waitLocked(f.name("two"))
			of := cluster.ForResource("helmreleases", tc.method)
			held := tc.hold(f.Proxy, func(r *http.Request) bool { return of(r) && !isStatus(r) })
			f.deploy("three", nil)
			f.uninstall("two")
			f.patchPolicy("all", `{"spec":{"template":{"spec":{"scope":"Strict"}}}}`)
			f.WaitHeld(held, 1)
			f.StopWhileHeld(f.Running, f.Proxy, held)
			f.Running = kit.StartWithPolicies(t, f.Proxy.RESTConfig(), f.Operator)
			f.waitMade("one", "three")
			f.waitPolicy("all", v1alpha1.ReasonApplied)
			for _, hr := range f.helmReleases() {
				check.Equal(t, hr.Spec.Scope, v1alpha1.ScopeStrict, "%s has scope", hr.Name)
			}
			f.waitLocked(f.name("one"))
			f.waitLocked(f.name("three"))
			f.settled()
		})
	}
}

func isStatus(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/status") }

// A creation that collides with another writer's is read again: the HelmRelease may be a user's.
func TestPolicy_AlreadyExists(t *testing.T) {
	f := newFixture(t)
	f.deploy("one", nil)
	held := f.Proxy.HoldRequests(cluster.ForResource("helmreleases", http.MethodPost))
	f.create("all", `{match: {namespaces: [APPS]}}`)
	f.WaitHeld(held, 1)
	f.CreateHelmRelease(f.name("one"), func(hr *v1alpha1.HelmRelease) { hr.Spec.Release.Name = "one" })
	held.Release()
	f.waitCounts("all", func(c v1alpha1.PolicyCounts) bool { return c.HandWritten == 1 && c.Made == 0 })
	owner := metav1.GetControllerOf(f.HelmRelease(f.name("one")))
	check.That(t, owner == nil, "it was taken from the user: %v", owner)
}

// A HelmRelease that changes just before its deletion is read again.
func TestPolicy_DeletesOnlyWhatItHasSeen(t *testing.T) {
	f := newFixture(t)
	f.deploy("one", nil)
	f.create("all", `{match: {namespaces: [APPS]}}`)
	name := f.waitMade("one")[0].Name
	f.WaitReady(name, 1)
	held := f.Proxy.HoldRequests(cluster.ForResource("helmreleases", http.MethodDelete))
	f.uninstall("one")
	f.WaitHeld(held, 1)
	f.PatchIn(kit.HelmReleases, f.Operator, name, `{"metadata":{"ownerReferences":null}}`)
	held.Release()
	f.waitCounts("all", func(c v1alpha1.PolicyCounts) bool { return c.Made == 0 && c.Matched == 0 })
	f.settled()
	f.waitMade("one")
}

// Of two replicas the leader writes, and the next one continues.
func TestPolicy_LeaderChange(t *testing.T) {
	elected := func(o *operator.ControllerOptions) { o.LeaderElection, o.SkipCRD = true, true }
	f := newFixture(t, elected)
	f.deploy("one", nil)
	f.create("all", `{match: {namespaces: [APPS]}}`)
	f.waitMade("one")
	standby := f.NewProxy()
	kit.StartWithPolicies(t, standby.RESTConfig(), f.Operator, elected)
	claim := f.Proxy.HoldRequests(cluster.ForResource("helmreleasepolicies", http.MethodPatch))
	f.create("another", `{match: {namespaces: [nowhere]}}`)
	f.WaitHeld(claim, 1)
	f.Throughout(3*time.Second, "the standby leaves the policy to the leader", func() error {
		if by := f.policy("another").Annotations[v1alpha1.ManagedByAnnotation]; by != "" {
			return fmt.Errorf("%s has claimed it", by)
		}
		return nil
	})
	claim.Release()
	f.deploy("two", nil)
	f.waitMade("one", "two")
	for _, w := range standby.Writes() {
		check.That(t, w.Resource() != "helmreleases" && w.Resource() != "helmreleasepolicies", "the standby wrote %s", w)
	}
	f.Running.Stop()
	f.deploy("three", nil)
	f.uninstall("one")
	f.waitMade("three", "two")
}

// An operator of a shard handles the policies that it selects, and the labels of a template determine the operator of
// their HelmReleases.
func TestPolicy_Shards(t *testing.T) {
	t.Parallel()
	f := notStarted(t)
	of := map[string]*cluster.Proxy{}
	for _, selector := range []string{"shard=a", "shard!=a"} {
		of[selector] = f.NewProxy()
		kit.StartWithPolicies(t, of[selector].RESTConfig(), f.Operator, func(o *operator.ControllerOptions) {
			o.ShardSelector, o.SkipCRD = selector, true
		})
	}
	f.deploy("one", nil)
	f.create("all", `{labels: {shard: b}, match: {namespaces: [APPS]}, template: {metadata: {labels: {shard: a}}}}`)
	f.waitMade("one")
	f.waitLocked(f.name("one"))
	check.Equal(t, f.HelmRelease(f.name("one")).Status.Shard, "shard=a", "the HelmRelease is managed by")
	check.Equal(t, f.waitPolicy("all", v1alpha1.ReasonApplied).Status.Shard, "shard!=a", "the policy is handled by")
	for _, w := range of["shard=a"].Writes() {
		check.That(t,
			w.Resource() != "helmreleasepolicies" && (w.Resource() != "helmreleases" || w.Method != http.MethodPost),
			"the shard that does not have the policy wrote %s", w)
	}
	// A more specific policy of the other shard takes the release over.
	f.create("narrow", `{labels: {shard: a}, match: {namespaces: [APPS], releases: [one]}, template: {metadata: {labels: {shard: b}}}}`)
	f.Until("the other shard has it", func() (any, bool) {
		hr := f.HelmRelease(f.name("one"))
		return hr, hr.Status.Shard == "shard!=a" && metav1.GetControllerOf(hr).Name == "narrow"
	})
}

// Discovery is requested once the policies are cached, and may be refused just then, by an expired token for example.
func TestPolicy_IsFollowedAfterARefusal(t *testing.T) {
	t.Parallel()
	f := notStarted(t)
	f.deploy("one", nil)
	f.create("all", `{match: {namespaces: [APPS]}}`)
	var cached atomic.Bool
	var refused atomic.Int32
	f.Proxy.Intercept(func(r *http.Request) cluster.Action {
		switch {
		case strings.HasSuffix(r.URL.Path, "/helmreleasepolicies"):
			cached.Store(true)
		case r.URL.Path == "/api" && cached.Load() && refused.Add(1) <= 3:
			return cluster.Fail(http.StatusUnauthorized, "on purpose")
		}
		return cluster.Forward()
	})
	kit.StartWithPolicies(t, f.Proxy.RESTConfig(), f.Operator)
	f.waitMade("one")
	f.waitLocked(f.name("one"))
	check.That(t, refused.Load() != 0, "nothing was refused")
}
