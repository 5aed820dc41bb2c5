package guard

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/kit"
)

// While Helm works on an earlier revision, objects that are as declared prove nothing. The end of that work ends the
// doubt.
func TestI14_ADoubtEndsWithItsCause(t *testing.T) {
	t.Parallel()
	f := newTrusting(t, witnessed)
	f.front.to("")
	f.Helm(f.Cluster.Helm4(), "install", "app", f.Chart("app", kit.ConfigMap("app", "declared")))
	label := func(status string) {
		f.Patch(kit.Secrets, "sh.helm.release.v1.app.v1", fmt.Sprintf(`{"metadata":{"labels":{"status":%q}}}`, status))
	}
	label("pending-upgrade")
	f.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Manifest: kit.ConfigMap("app", "declared")})
	f.CreateHelmRelease("app")
	f.doubted("app", 2, "nothing shows that the writer of revision 2")
	label("superseded")
	f.WaitReady("app", 2)
}

// A user with the rights ends an interrupted upgrade by the deletion of its record. The deletion by a user without them
// ends the trust in the earlier revision, which would undo a part of an upgrade.
func TestI14_ADeletedUpgradeReturnsToTheTrustedRevision(t *testing.T) {
	t.Parallel()
	f := newTrusting(t, witnessed)
	f.inForce()
	f.Helm(f.Cluster.Helm4(), "install", "app", f.Chart("app", kit.ConfigMap("app", "declared")+f.clusterRole()))
	f.Lock("app")
	interrupted := func() {
		f.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Status: "pending-upgrade",
			Manifest: kit.ConfigMap("app", "upgraded")})
		f.Patch(kit.ConfigMaps, "app", `{"data":{"key":"upgraded"}}`)
	}
	interrupted()
	f.deleteRecord(f.Env, "app", 2)
	f.WaitField(kit.ConfigMaps, "app", "data.key", "declared")
	f.WaitReady("app", 1)

	interrupted()
	f.deleteRecord(f.mallory, "app", 2)
	f.doubted("app", 1, "nothing shows that the writer of revision 1")
	if got := f.Get(kit.ConfigMaps, "app"); !strings.Contains(fmt.Sprint(got.Object["data"]), "upgraded") {
		t.Errorf("the upgrade was undone: %v", got.Object["data"])
	}
}
