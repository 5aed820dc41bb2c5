package guard

import (
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// Helm begins to keep records in the namespace of a release with its records in another one. The operator has not
// observed these.
func TestI13_StoredElsewhere_HelmTakesOverWhereTheReleaseIs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	target := f.Namespace(f.Apps + "-target")
	check.NoError(t, f.HelmSDK(target, f.Apps).Install(f.Chart("app", kit.ConfigMap("settings", "by Flux"))))
	f.guard("app")
	release := f.Proxy.HoldWatch(nil)
	defer release()
	for i, args := range [][]string{
		{"install", "app", f.Chart("app", kit.ConfigMap("settings", "first"))},
		{"upgrade", "app", f.Chart("app", kit.ConfigMap("settings", "second"))},
	} {
		out, err := kit.Shared.Helm3().Run(f.Ctx, append(args, "--namespace", target)...)
		check.Must(t, err == nil, "%v %v", err, out)
		want := []string{"first", "second"}[i]
		f.WaitFieldIn(kit.ConfigMaps, target, "settings", "data.key", want)
	}
}

// A release without a HelmRelease, with its records in another namespace, takes an object over.
func TestI13_StoredElsewhere_AnUnlockedReleaseTakesOver(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	storage, target := f.Namespace(f.Apps+"-storage"), f.Namespace(f.Apps+"-target")
	f.guarded(kit.Shared.Helm3(), "shop", shop)
	f.inForce(kit.ConfigMaps, "settings")
	claim := []string{"annotate", "configmap", "settings", "--overwrite", "meta.helm.sh/release-name=app",
		"meta.helm.sh/release-namespace=" + target}
	f.refused(kit.ConfigMaps, "settings", "", claim...)
	heir := f.HelmSDK(target, storage)
	inherited := func(value string) string {
		return f.Chart("app", strings.ReplaceAll(kit.ConfigMap("settings", value),
			"{name: settings}", "{name: settings, namespace: "+f.Apps+"}"))
	}
	check.NoError(t, heir.TakeOver(inherited("inherited")))
	check.NoError(t, heir.Upgrade(inherited("second"), nil))
	f.WaitField(kit.ConfigMaps, "settings", "data.key", "second")
}

// The refusal of a change names the tool that made the release: Helm's commands use one namespace for a release and
// its records.
func TestStoredElsewhere_ADenialSaysWhatToUse(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	target := f.Namespace(f.Apps + "-target")
	check.NoError(t, f.HelmSDK(target, f.Apps).Install(f.Chart("app", kit.ConfigMap("settings", "declared"))))
	f.guard("app")
	var complaint string
	f.Until("the guard refuses a change", func() (any, bool) {
		_, complaint = f.kubectl("-n", target, "patch", "configmap", "settings", "-p", `{"data":{"key":"edited"}}`)
		return complaint, strings.Contains(complaint, "denied the request")
	})
	want := "Helm release " + target + "/app, which is locked; data[key] was refused. Use the tool that stores its " +
		"records in namespace " + f.Apps + ", or \"helm-locker suspend app -n " + f.Apps
	check.That(t, strings.Contains(complaint, want) && !strings.Contains(complaint, "helm upgrade"), "got %s\nwant %s",
		complaint, want)
}
