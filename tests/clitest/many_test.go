package clitest

import (
	"encoding/json"
	"strings"
	"testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// Several names, labels and namespaces for commands that change locks. As with kubectl, -A alone selects nothing.
func TestLockAndUnlockMany(t *testing.T) {
	w := newFixture(t)
	second := w.Namespace(w.Apps + "-2")
	for _, name := range []string{"many-a", "many-b"} {
		w.Helm(kit.Shared.Helm4(), "install", name, w.Chart(name, kit.ConfigMap(name, "one")))
	}
	chart := w.Chart("many-a", kit.ConfigMap("many-a", "one"))
	_, err := kit.Shared.Helm4().Run(w.Ctx, "install", "many-a", chart, "-n", second)
	check.NoError(t, err)

	w.app("lock", "many-a", "many-b", "many-a").is(0,
		"HelmRelease LOCKER/many-a created: release APPS/many-a, revision 1, deployed\n"+
			"HelmRelease LOCKER/many-b created: release APPS/many-b, revision 1, deployed\n", "")
	w.cli("lock", "many-a", "-A").is(0,
		"HelmRelease LOCKER/many-a unchanged: release APPS/many-a, revision 1, deployed\n"+
			"HelmRelease LOCKER/APPS-2-many-a created: release APPS-2/many-a, revision 1, deployed\n", "")
	w.cli("lock", "nowhere", "-A").is(5, "", "helm-locker: there is no release \"nowhere\" in any namespace\n")
	// An error of one does not affect the others.
	w.app("lock", "absent", "many-b", "--must-exist").is(1,
		"HelmRelease LOCKER/many-b unchanged: release APPS/many-b, revision 1, deployed\n",
		"helm-locker: release APPS/absent does not exist: namespace \"APPS\" has no record of it in a Secret\n"+
			"  helm list -A lists all releases; choose the namespace with -n, the cluster with --context, and where Helm keeps "+
			"records with --release-storage\n")

	for _, refused := range [][]string{
		{"--all-namespaces needs the name of a release, --selector or --all", "unlock", "-A"},
		{"names of releases, and --selector or --all, exclude each other", "suspend", "many-a", "--all"},
		{"--name needs the name of one release", "resume", "many-a", "many-b", "--name", "many-a"},
		{"APPS/many-a names a namespace, and --all-namespaces means all", "unlock", w.Apps + "/many-a", "-A"},
		{"the name of a release is missing", "suspend"},
	} {
		w.cli(refused[1:]...).is(1, "", "helm-locker: "+refused[0]+"\n  see helm-locker "+refused[1]+" --help\n")
	}
	w.cli("unlock", "-l", "a b=").says(1, "helm-locker: --selector: ", "write it like team=web,tier!=db")

	w.cli("suspend", "many-a", "-A").is(0,
		"HelmRelease LOCKER/APPS-2-many-a suspended until it is resumed: release APPS-2/many-a\n"+
			"HelmRelease LOCKER/many-a suspended until it is resumed: release APPS/many-a\n", "")
	w.cli("resume", "--all", "-n", second).is(0, "HelmRelease LOCKER/APPS-2-many-a resumed: release APPS-2/many-a\n", "")
	w.PatchHelmRelease("many-b", `{"metadata":{"labels":{"team":"b"}}}`)
	w.cli("suspend", "-A", "--helmrelease-selector", "team=b", "--dry-run").is(0,
		"HelmRelease LOCKER/many-b suspended until it is resumed: release APPS/many-b (dry run)\n", "")
	w.cli("suspend", "-A", "-l", "team=b").is(5, "",
		"helm-locker: no HelmRelease in namespace LOCKER is for a release with labels team=b\n"+
			"  1 HelmRelease with such labels: --helmrelease-selector selects by them\n  --allow-empty accepts that\n")
	w.cli("suspend", "-A", "--helmrelease-selector", "team=c").is(5, "",
		"helm-locker: no HelmRelease in namespace LOCKER has labels team=c\n  --allow-empty accepts that\n")

	var list struct {
		Kind  string
		Items []v1alpha1.HelmRelease
	}
	r := w.cli("resume", "-A", "--all", "-o", "json")
	err = json.Unmarshal([]byte(r.raw), &list)
	check.That(t, err == nil && list.Kind == "List" && len(list.Items) == 3, "%v: %s", err, r.raw)
	r = w.cli("resume", "-A", "--all", "-o", "yaml")
	check.That(t, strings.Count(r.stdout, "---\napiVersion: ") == 2, "documents are\n%s", r.stdout)
	w.cli("unlock", "--all", "-A").is(0, "HelmRelease LOCKER/APPS-2-many-a deleted: release APPS-2/many-a\n"+
		"HelmRelease LOCKER/many-a deleted: release APPS/many-a\n"+
		"HelmRelease LOCKER/many-b deleted: release APPS/many-b\n", "")
	w.app("suspend", "many-a", "many-b").says(1, "release APPS/many-a is not locked", "release APPS/many-b is not locked")
}

func TestWaitForMany(t *testing.T) {
	w := newFixture(t)
	for _, name := range []string{"many-a", "many-b"} {
		w.Helm(kit.Shared.Helm4(), "install", name, w.Chart(name, kit.ConfigMap(name, "one")))
	}
	w.app("lock", "many-a", "many-b", "--wait", "--timeout", "300ms").says(1,
		"release APPS/many-a: waiting for an operator\n", "release APPS/many-b: waiting for an operator\n",
		"helm-locker: 2 of 2 are not done after 300ms; APPS/many-a, say, waits for an operator\n")
	kit.StartOperator(t, w.OperatorConfig(), w.Operator)
	w.app("lock", "many-a", "many-b", "--wait").says(0,
		"release APPS/many-a: done: revision 1 is locked, 1 object\n",
		"release APPS/many-b: done: revision 1 is locked, 1 object\n")
	w.app("suspend", "--all", "--wait").says(0, "release APPS/many-b: done\n")
}

// --unignore removes exactly the additions of --ignore.
func TestUnignore(t *testing.T) {
	w := newFixture(t)
	w.CreateHelmRelease("shop", func(hr *v1alpha1.HelmRelease) {
		hr.Spec.Ignore = []v1alpha1.IgnoreRule{{Paths: []string{"/spec/replicas"}, Managers: []string{"keda"}}}
	})
	w.app("lock", "shop", "--may-not-exist", "--ignore", "/spec/replicas", "--ignore", "/data/a").says(0, "changed")
	w.app("lock", "shop", "--may-not-exist", "--unignore", "/spec/replicas", "--ignore", "/data/b").says(0, "changed")
	ignored := func(want string) {
		t.Helper()
		text, err := json.Marshal(w.HelmRelease("shop").Spec.Ignore)
		check.NoError(t, err)
		check.That(t, string(text) == want, "rules are %s, want %s", text, want)
	}
	ignored(`[{"paths":["/spec/replicas"],"managers":["keda"]},{"paths":["/data/a"]},{"paths":["/data/b"]}]`)
	w.app("lock", "shop", "--may-not-exist", "--unignore", "/spec/replicas").says(0, "unchanged",
		"note: HelmRelease LOCKER/shop does not ignore /spec/replicas\n")
	w.app("lock", "shop", "--may-not-exist", "--unignore", "/data/b", "--unignore", "/data/a").says(0, "changed")
	ignored(`[{"paths":["/spec/replicas"],"managers":["keda"]}]`)
	w.app("lock", "shop", "--may-not-exist", "--unignore", "/a", "--ignore", "/a").says(1, "exclude each other")
	w.app("lock", "shop", "--may-not-exist", "--unignore", "a").says(1, `--unignore "a" is no JSON pointer`)
}

func TestDiffMany(t *testing.T) {
	w := newFixture(t)
	for _, name := range []string{"many-a", "many-b", "many-c"} {
		w.Helm(kit.Shared.Helm4(), "install", name, w.Chart(name, kit.ConfigMap(name, "one")), "--labels", "app="+name)
	}
	w.app("diff").is(0, "3 releases, none drifted\n", "")
	w.Patch(kit.ConfigMaps, "many-b", `{"data":{"key":"two"}}`)
	r := w.app("diff")
	r.says(2, "release APPS/many-b, revision 1: 1 of 1 object drifted (1 modified, 0 missing)\n\n3 releases, 1 drifted\n")
	check.That(t, !strings.Contains(r.stdout, "many-a"), "it tells what has not drifted:\n%s", r.stdout)
	w.app("diff", "--all").says(2, "release APPS/many-a, revision 1: no drift, 1 object compared\n", "3 releases, 1 drifted\n")
	w.app("diff", "many-a", "many-c").is(0, "2 releases, none drifted\n", "")
	w.app("diff", "-l", "app in (many-a,many-b)").says(2, "2 releases, 1 drifted\n")
	w.cli("diff", "-A", "-l", "app=none").is(5, "",
		"helm-locker: there is no release to compare with labels app=none\n  --allow-empty accepts that\n")
	// A label of an older revision is none of the release.
	w.Helm(kit.Shared.Helm4(), "upgrade", "many-a", w.Chart("many-a", kit.ConfigMap("many-a", "one")), "--labels",
		"app=other")
	w.app("diff", "-l", "app=many-a").says(5, "there is no release to compare in namespace APPS with labels app=many-a\n")
	w.app("diff", "many-a", "-l", "app=x").says(1, "names of releases and --selector exclude each other")
	w.Forge(kit.ForgedRecord{Name: "many-d", Manifest: "kind: ["})
	w.app("diff").says(1, "4 releases, 1 not fully compared, 1 drifted\n", "does not parse")
}
