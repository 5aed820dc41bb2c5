package guard

import (
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/kit"
)

// An object that is made to say that it belongs to something which is no release, or to a release whose record is none,
// has not been given to another release: the guard refuses that like any other change.
func TestHostile_AClaimOfNoReleaseIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.guarded(kit.Shared.Helm3(), "shop", shop)
	f.inForce(kit.ConfigMaps, "settings")
	f.Forge(kit.ForgedRecord{Name: "no-status", Labels: map[string]string{"status": ""}})
	f.Forge(kit.ForgedRecord{Name: "no-version", Status: "pending-install", Labels: map[string]string{"version": "x"}})
	for _, claim := range []string{
		"name=x y", "name=a/b", "name=%zz", "name=X", "name=shop,status=deployed", "name=" + strings.Repeat("x", 64),
		"namespace=../pods/http:mine:8080/proxy", "namespace=..", "namespace=a/b", "namespace=x y",
		"name=no-status", "name=no-version",
	} {
		f.refused(kit.ConfigMaps, "settings", "", "annotate", "configmap", "settings", "--overwrite",
			"meta.helm.sh/release-"+claim)
	}
}
