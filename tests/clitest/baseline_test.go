package clitest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// With a baseline only new drift is shown and fails a pipeline.
func TestBaseline(t *testing.T) {
	w := newFixture(t)
	w.installShop(kit.Shared.Helm3(), "shop")
	w.Helm(kit.Shared.Helm4(), "install", "stall", w.Chart("stall", kit.ConfigMap("stall", "one")))
	w.Patch(kit.ConfigMaps, "shop", `{"data":{"color":"red"}}`)
	w.Patch(kit.Secrets, "shop", `{"stringData":{"password":"`+secretValue+`-2"}}`)
	w.Delete(kit.Services, "shop")
	file := filepath.Join(t.TempDir(), "drift.yaml")

	w.app("report", "--write-baseline").says(1, "--write-baseline needs --baseline FILE")
	w.app("report", "--baseline", file).says(1, "no such file", "--write-baseline writes the drift of now to that file")
	w.app("report", "--baseline", file, "--write-baseline").says(0, "**2 releases, 1 drifted**",
		"wrote "+file+": 3 objects in 1 release\n")
	written, err := os.ReadFile(file)
	check.NoError(t, err)
	const want = `apiVersion: cli.helm-locker.cattle.io/v1
items:
- differences:
  - changes:
    - live: red
      operation: Modified
      path: /data/color
    kind: ConfigMap
    name: shop
    namespace: APPS
    state: Modified
  - changes:
    - operation: Modified
      path: /data/password
    kind: Secret
    name: shop
    namespace: APPS
    state: Modified
  - kind: Service
    name: shop
    namespace: APPS
    state: Missing
  name: shop
  namespace: APPS
kind: ReleaseDriftList
`
	got := w.neutral(string(written))
	check.That(t, got == want, "the baseline is\n%s\ninstead of\n%s", got, want)
	w.app("report", "--baseline", file).says(0, "**2 releases, none drifted; 3 objects drifted as in the baseline**")
	w.app("diff", "shop", "--baseline", file).is(0,
		"release APPS/shop, revision 1: no drift, 4 objects compared; 3 objects drifted as in the baseline\n", "")

	// Another value of a Secret is known. Another value of any other field is new, and so is another field.
	w.Patch(kit.Secrets, "shop", `{"stringData":{"password":"`+secretValue+`-3"}}`)
	w.app("diff", "shop", "--baseline", file).says(0, "3 objects drifted as in the baseline")
	w.Patch(kit.ConfigMaps, "shop", `{"data":{"size":"11"}}`)
	w.app("diff", "shop", "--baseline", file).says(2, "ConfigMap APPS/shop: data[size]\n",
		"1 of 4 objects drifted (1 modified, 0 missing); 2 objects drifted as in the baseline\n")
	w.Patch(kit.ConfigMaps, "shop", `{"data":{"color":"blue","size":"10"}}`)
	w.app("diff", "shop", "--baseline", file).says(2, "ConfigMap APPS/shop: data[color]\n")
	w.app("report", "-o", "junit", "--baseline", file).says(2, `failures="1"`, "ConfigMap APPS/shop: data[color]\n")

	// Drift that ended is named, and leaves the file when that is written again.
	w.Patch(kit.ConfigMaps, "shop", `{"data":{"color":"green"}}`)
	w.Helm(kit.Shared.Helm4(), "uninstall", "stall")
	w.app("diff", "shop", "--baseline", file).is(0,
		"release APPS/shop, revision 1: no drift, 4 objects compared; 2 objects drifted as in the baseline\n",
		"note: no longer drift, though in "+file+": release APPS/shop, ConfigMap APPS/shop: Modified\n")
	w.app("diff", "--baseline", file, "--write-baseline").says(0, "wrote "+file+": 2 objects in 1 release\n")

	// The drift of releases that are not compared stays in the file, and what cannot be compared is not forgotten.
	w.Helm(kit.Shared.Helm4(), "install", "kiosk", w.Chart("kiosk", kit.ConfigMap("kiosk", "one")))
	w.Delete(kit.ConfigMaps, "kiosk")
	w.app("diff", "kiosk", "--baseline", file, "--write-baseline").says(0, "wrote "+file+": 3 objects in 2 releases\n")
	bad := w.Forge(kit.ForgedRecord{Name: "bad", Manifest: kit.ConfigMap("bad", "one"), Labels: map[string]string{"version": "x"}})
	before, err := os.ReadFile(file)
	check.NoError(t, err)
	w.Delete(kit.ConfigMaps, "shop")
	w.app("report", "--baseline", file, "--write-baseline").says(1, "1 not fully compared", "ConfigMap APPS/shop")
	w.Delete(kit.Secrets, bad.GetName()) // other tests read all namespaces
	after, err := os.ReadFile(file)
	check.NoError(t, err)
	check.Equal(t, string(after), string(before), "an incomplete comparison replaced\n%s\nby\n%s", before, after)

	// The output for programs is a baseline, too.
	w.app("diff", "kiosk", "-o", "json", "--baseline", file).says(0, `"known": 1`)
	all := w.app("diff", "kiosk", "-o", "json")
	check.NoError(t, os.WriteFile(file, []byte(all.raw), 0o600))
	w.app("diff", "kiosk", "--baseline", file).says(0, "1 object drifted as in the baseline")
	check.NoError(t, os.WriteFile(file, []byte("kind: ConfigMap"), 0o600))
	w.app("diff", "kiosk", "--baseline", file).says(1, file+": the baseline is no ReleaseDriftList")
	check.NoError(t, os.WriteFile(file, []byte(strings.Repeat("a: [", 50)), 0o600))
	w.app("diff", "kiosk", "--baseline", file).says(1, "parse the baseline")
}
