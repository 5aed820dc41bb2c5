package policy

import (
	"net/http"
	"testing"
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// deleteByHand deletes the HelmRelease of a release, and returns it.
func (f *fixture) deleteByHand(release string) *v1alpha1.HelmRelease {
	f.Helper()
	hr := f.waitMade(release)[0]
	f.DeleteIn(kit.HelmReleases, f.Operator, hr.Name)
	return hr
}

func (f *fixture) waitMadeAgain(deleted *v1alpha1.HelmRelease) {
	f.Helper()
	f.Until("it is made again", func() (any, bool) {
		all := f.helmReleases()
		return all, len(all) == 1 && all[0].UID != deleted.UID
	})
}

// A HelmRelease deleted by hand while its release exists is re-created.
func TestPolicy_MakesADeletedHelmReleaseAgain(t *testing.T) {
	f := newFixture(t)
	f.deploy("one", nil)
	f.create("all", `{match: {namespaces: [APPS]}}`)
	f.waitMadeAgain(f.deleteByHand("one"))
}

// The deletion may be observed before the answer to the creation.
func TestPolicy_MakesADeletedHelmReleaseAgainThatItHadJustMade(t *testing.T) {
	f := newFixture(t)
	f.deploy("one", nil)
	held := f.Proxy.HoldAnswers(cluster.ForResource("helmreleases", http.MethodPost))
	f.create("all", `{match: {namespaces: [APPS]}}`)
	f.WaitHeld(held, 1)
	f.WaitReady(f.name("one"), 1)
	deleted := f.deleteByHand("one")
	f.WaitLog(f.Running, "no longer managing release "+f.Apps+"/one")
	held.Release()
	f.waitMadeAgain(deleted)
}

// unseen is longer than the operator waits for the watch to deliver a created object.
const unseen = time.Minute

// No watch may have seen it: it was created and deleted while the operator could not watch.
func TestPolicy_MakesADeletedHelmReleaseAgainThatItNeverSaw(t *testing.T) {
	t.Parallel()
	clock := kit.NewTime(t)
	f := &fixture{kit.StartBoth(t, withClock(clock))}
	f.deploy("one", nil)
	watching := cluster.WatchOf("helmreleases")
	f.waitWatching(watching)
	sight, expired := f.Proxy.Blind(watching)
	f.create("all", `{match: {namespaces: [APPS]}}`)
	deleted := f.deleteByHand("one")
	sight()
	f.waitWatching(watching)
	f.settled()
	clock.Step(unseen)
	f.waitMadeAgain(deleted)
	check.That(t, expired(), "the operator could go on from where it was, and saw all")
}

func (f *fixture) waitWatching(match cluster.Match) {
	f.Helper()
	f.Until("the operator and the policies' process watch", func() (any, bool) {
		n := f.Proxy.Watches(match)
		return n, n == 2
	})
}
