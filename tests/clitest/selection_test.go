package clitest

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// -l selects the releases of helm list -l in every command, whatever labels their HelmReleases have.
func TestSelectorSelectsReleases(t *testing.T) {
	w := newFixture(t)
	for name, team := range map[string]string{"many-a": "store", "many-b": "store", "many-c": "bank"} {
		w.Helm(kit.Shared.Helm4(), "install", name, w.Chart(name, kit.ConfigMap(name, "one")), "--labels", "team="+team)
		w.CreateHelmRelease(name, func(hr *v1alpha1.HelmRelease) {
			hr.Labels = map[string]string{"team": "platform"}
		})
	}
	for selector, want := range map[string]string{
		"team=store": "many-a many-b", "team!=store,name=many-c": "many-c", "status=deployed,team": "many-a many-b many-c",
	} {
		listed := w.Helm(kit.Shared.Helm4(), "list", "-q", "-l", selector)
		got := strings.Join(strings.Fields(listed), " ")
		check.Must(t, got == want, "helm list -l %s: %s", selector, got)
		for _, command := range []string{"suspend", "resume", "unlock"} {
			r := w.app(command, "-l", selector, "--dry-run", "-o", "name")
			names := strings.ReplaceAll(strings.Join(strings.Fields(r.stdout), " "), "helmrelease.helm.cattle.io/", "")
			check.That(t, r.code == 0 && names == want, "%s -l %s: exit code %d, %s%s", command, selector, r.code, r.stdout,
				r.stderr)
		}
	}
	w.app("status", "-l", "team=store", "-o", "name").is(0,
		"helmrelease.helm.cattle.io/many-a\nhelmrelease.helm.cattle.io/many-b\n", "")
	w.app("status", "-l", "team=store", "--state", "locked", "-o", "name").is(0, "", "")
	w.app("status", "-l", "team=nosuch", "--state", "locked").is(5, "", "helm-locker: no HelmRelease in namespace LOCKER is "+
		"for a release in namespace APPS with labels team=nosuch\n  --allow-empty accepts that\n")
	w.app("status", "-l", "team=nosuch", "--allow-empty").says(0, "with labels team=nosuch\n")
	w.app("status", "-l", "team=store", "--watch").says(1, "--selector goes with none of a name, --watch and --policies")
	w.app("diff", "-l", "team=store").says(0, "2 releases, none drifted")
	// Both kinds of labels have to match.
	w.app("suspend", "-l", "team=store", "--helmrelease-selector", "team=bank").is(5, "", "helm-locker: no HelmRelease in "+
		"namespace LOCKER is for a release in namespace APPS with labels team=store and has labels team=bank\n  --allow-empty accepts that\n")
	w.app("suspend", "--helmrelease-selector", "team=platform", "--dry-run").says(0, "many-a", "many-b", "many-c")
	w.app("suspend", "--helmrelease-selector", "a b").says(1, "helm-locker: --helmrelease-selector: ")

	apps, env := w.Apps, *w.Env
	env.Apps = w.Operator // as grants rights there
	clerk := (&fixture{Env: &env}).as("clerk", rule("list,patch", v1alpha1.SchemeGroupVersion.Group, v1alpha1.HelmReleaseResourceName))
	clerk.cli("suspend", "-n", apps, "-l", "team=store").says(1, `resource "secrets"`,
		"--helmrelease-selector selects by the labels of the HelmReleases, without the records\n")
	clerk.cli("status", "-n", apps, "-l", "team=store").says(1, `resource "secrets"`)
	clerk.cli("suspend", "-n", apps, "--helmrelease-selector", "team=platform", "--dry-run").says(0, "many-c")
}

// unlock takes back the policy that lock writes by the same flags. It unlocks nothing that another policy locks again.
func TestUnlockTakesThePolicyBack(t *testing.T) {
	w := newFixture(t)
	w.Helm(kit.Shared.Helm4(), "install", "many-a", w.Chart("many-a", kit.ConfigMap("many-a", "one")), "--labels", "team=store")
	w.Helm(kit.Shared.Helm4(), "install", "many-b", w.Chart("many-b", kit.ConfigMap("many-b", "one")))
	kit.StartWithPolicies(t, w.OperatorConfig(), w.Operator)
	w.app("lock", "-l", "team=store", "--mode", "Detect", "--name", "store").says(0, "created")
	w.app("lock", "many-b", "--mode", "Detect").says(0, "created")
	made := w.Apps + ".many-a"
	exists := func() bool {
		_, err := w.In(kit.HelmReleases, w.Operator).Get(w.Ctx, made, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
		return err == nil
	}
	w.Until("the policy has made its HelmRelease", func() (any, bool) { return nil, exists() })

	const stays = "helm-locker: release APPS/many-a stays locked: HelmReleasePolicy store makes HelmRelease LOCKER/APPS.many-a again\n" +
		"  exclude it in the policy: kubectl -n LOCKER edit helmreleasepolicy store\n" +
		"  or unlock it for a while: helm-locker suspend many-a -n APPS\n"
	w.app("unlock", "many-a").is(1, "", stays)
	w.app("unlock", "--all").is(1, "HelmRelease LOCKER/many-b deleted: release APPS/many-b\n", stays)
	w.app("unlock", "--all", "--name", "store").is(1, "", "helm-locker: HelmReleasePolicy LOCKER/store selects other releases\n"+
		"  choose another --name, or change that policy with kubectl edit\n")
	w.app("unlock", "--all", "--name", "stor").says(5, `there is no HelmReleasePolicy "stor"`, "did you mean store?")
	w.app("unlock", "--helmrelease-selector", v1alpha1.PolicyLabel+"=store").is(1, "", stays)
	check.That(t, exists(), "the HelmRelease of a policy was deleted")

	const deleted = "HelmReleasePolicy LOCKER/store deleted: releases with labels team in (store) of namespace APPS, now and later"
	w.app("unlock", "-l", "team=store", "--dry-run").is(0,
		deleted+" (dry run)\nHelmRelease LOCKER/APPS.many-a deleted: release APPS/many-a (dry run)\n", "")
	w.app("unlock", "-l", "team=store", "--dry-run", "-o", "name").is(0,
		"helmreleasepolicy.helm.cattle.io/store\nhelmrelease.helm.cattle.io/APPS.many-a\n", "")
	w.app("unlock", "-l", "team=store").is(0, deleted+"\nHelmRelease LOCKER/APPS.many-a deleted: release APPS/many-a\n", "")
	w.Until("the release is unlocked, and stays so", func() (any, bool) { return nil, !exists() })
	w.cli("status", "--policies").says(0, "there is no HelmReleasePolicy")
	w.app("unlock", "-l", "team=store").says(5, "is for a release in namespace APPS with labels team=store\n")

	// A policy that matches nothing yet is taken back, too.
	w.cli("lock", "-A", "-l", "team=none", "--allow-empty", "--mode", "Detect").says(0, "HelmReleasePolicy LOCKER/all-team-none created")
	w.cli("unlock", "-A", "-l", "team=none").says(0, "HelmReleasePolicy LOCKER/all-team-none deleted: ")
}
