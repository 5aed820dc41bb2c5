package clitest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

func TestLockIsIdempotent(t *testing.T) {
	w := newFixture(t)
	w.installShop(kit.Shared.Helm4(), "shop")
	w.app("lock", "shop", "--dry-run").is(0,
		"HelmRelease LOCKER/shop created: release APPS/shop, revision 1, deployed (dry run)\n", "")
	w.app("lock", "shop", "--mode", "Detect", "--dry-run", "-o", "yaml").is(0, `apiVersion: helm.cattle.io/v1alpha1
kind: HelmRelease
metadata:
  name: shop
  namespace: LOCKER
spec:
  guard: "Off"
  mode: Detect
  release:
    name: shop
    namespace: APPS
  scope: Declared
`, "")
	w.app("lock", "shop").is(0, "HelmRelease LOCKER/shop created: release APPS/shop, revision 1, deployed\n", "")
	w.app("lock", "shop").is(0, "HelmRelease LOCKER/shop unchanged: release APPS/shop, revision 1, deployed\n", "")
	w.app("lock", "shop", "--mode", "Enforce", "--scope", "Declared").says(0, "unchanged")

	w.app("lock", "shop", "--scope", "Strict", "--ignore", "/spec/replicas", "--ignore",
		"/metadata/annotations/a,b").says(0, "HelmRelease LOCKER/shop changed")
	w.app("lock", "shop", "--ignore", "/spec/replicas").says(0, "unchanged")
	w.app("lock", "shop", "--ignore", "/spec/replicas", "--ignore", "/spec/template", "-o", "name").is(0,
		"helmrelease.helm.cattle.io/shop\n", "")
	spec := w.HelmRelease("shop").Spec
	want := []v1alpha1.IgnoreRule{{Paths: []string{"/spec/replicas", "/metadata/annotations/a,b"}},
		{Paths: []string{"/spec/template"}}}
	check.That(t,
		spec.Scope == v1alpha1.ScopeStrict && spec.Mode == v1alpha1.ModeEnforce &&
			fmt.Sprint(spec.Ignore) == fmt.Sprint(want), "spec is %+v", spec)

	w.app("unlock", "shop", "--dry-run").is(0, "HelmRelease LOCKER/shop deleted: release APPS/shop (dry run)\n", "")
	w.app("unlock", "shop").is(0, "HelmRelease LOCKER/shop deleted: release APPS/shop\n", "")
	w.app("unlock", "shop").is(0, "", "release APPS/shop is not locked: no HelmRelease in namespace LOCKER names it\n")
}

func TestLockNames(t *testing.T) {
	w := newFixture(t)
	other := w.Namespace(w.Apps + "-2")
	w.app("lock", "till", "--name", "mine", "--may-not-exist").says(0,
		"HelmRelease LOCKER/mine created: release APPS/till, which does not exist yet and is locked when it appears\n")
	w.app("lock", "till", "--name", "yours", "--may-not-exist").is(1, "",
		"helm-locker: release APPS/till has a HelmRelease already: LOCKER/mine\n  leave --name out to change that one\n")
	w.cli("lock", "till", "-n", other, "--name", "mine", "--may-not-exist").is(1, "",
		"helm-locker: HelmRelease LOCKER/mine is for release APPS/till, and that cannot be changed\n  choose another --name, or leave it out\n")
	w.cli("lock", "mine", "-n", other, "--may-not-exist").says(0, "HelmRelease LOCKER/APPS-2-mine created")
	w.app("unlock", "till").says(0, "HelmRelease LOCKER/mine deleted")
}

func TestLockWaitSaysWhatItWaitsFor(t *testing.T) {
	w := newFixture(t)
	r := w.app("lock", "kiosk", "--may-not-exist", "--wait", "--timeout", "300ms")
	r.is(1, "HelmRelease LOCKER/kiosk created: release APPS/kiosk, which does not exist yet and is locked when it appears\n",
		"waiting for an operator\n"+
			"helm-locker: not done after 300ms; still waiting for an operator\n  helm-locker status kiosk shows more; --timeout waits longer\n")

	kit.StartOperator(t, w.OperatorConfig(), w.Operator)
	w.WaitReason("kiosk", v1alpha1.ConditionReady, v1alpha1.ReasonSecretNotFound)
	// The release is created when the program prints that it waits for it.
	chart := w.Chart("shop", shop)
	r = w.meanwhile("waiting for SecretNotFound", func() {
		_, err := kit.Shared.Helm4().Run(w.Ctx, "install", "kiosk", chart, "-n", w.Apps)
		check.Report(t, err)
	}, "lock", "kiosk", "--may-not-exist", "-n", w.Apps, "--wait", "--timeout", "1m")
	r.says(0, "waiting for SecretNotFound")
	check.That(t, strings.HasSuffix(r.stderr, "done: revision 1 is locked, 4 objects\n"), "stderr is %s", r.stderr)

	w.app("suspend", "kiosk", "--for", "1h", "--reason", "an experiment\nof mine", "--wait").is(0,
		`HelmRelease LOCKER/kiosk suspended until TIME (an experiment\nof mine): release APPS/kiosk`+
			"\n", "waiting for an operator to unlock it\ndone\n")
	w.app("lock", "kiosk", "--wait").is(0,
		"HelmRelease LOCKER/kiosk unchanged: release APPS/kiosk, revision 1, deployed\n",
		`note: the lock is suspended until TIME (an experiment\nof mine); helm-locker resume kiosk -n APPS ends that`+"\n")
	w.app("resume", "kiosk", "--wait").says(0, "HelmRelease LOCKER/kiosk resumed: release APPS/kiosk\n",
		"waiting for an operator\n", "done: revision 1 is locked, 4 objects\n")
	w.app("resume", "kiosk", "--wait").is(0, "HelmRelease LOCKER/kiosk already resumed: release APPS/kiosk\n",
		"done: revision 1 is locked, 4 objects\n")
	w.app("lock", "kiosk", "--scope", "Strict", "--wait", "--timeout", "1ns").says(1,
		"waiting for an operator\n", "not done after 1ns; still waiting for an operator\n")
	w.app("resume", "kiosk").is(0, "HelmRelease LOCKER/kiosk already resumed: release APPS/kiosk\n", "")
}

// --wait is not done while a guard that was asked for is not in force.
func TestLockWaitsForTheGuard(t *testing.T) {
	w := newFixture(t)
	w.Helm(kit.Shared.Helm4(), "install", "kiosk", w.Chart("kiosk", kit.ConfigMap("kiosk", "one")))
	kit.StartOperator(t, w.OperatorConfig(), w.Operator)
	const missing = "the guard: NotServed: the operator serves no guard: set guard.enabled in the values of its chart " +
		"(--guard-address)\n"
	w.app("lock", "kiosk", "--wait").says(0, "done: revision 1 is locked, 1 object\n")
	w.app("lock", "kiosk", "--guard", "Deny", "--wait", "--timeout", "3s").says(1, "waiting for "+missing,
		"helm-locker: not done after 3s; still waiting for "+missing)
	w.app("resume", "kiosk", "--wait", "--timeout", "1s").says(1, missing)
	table := w.Kubectl("get", "helmreleases", "-n", w.Operator, "-o", "wide")
	head, row, _ := strings.Cut(table, "\n")
	check.That(t, slices.Contains(strings.Fields(head), "GUARDED") && slices.Contains(strings.Fields(row), "False"),
		"kubectl does not show the guard: %s", table)
	w.app("lock", "kiosk", "--guard", "Off", "--wait").says(0, "done: revision 1 is locked, 1 object\n")
}

func TestSuspend(t *testing.T) {
	w := newFixture(t)
	w.app("suspend", "shop").is(5, "",
		"helm-locker: release APPS/shop is not locked: no HelmRelease in namespace LOCKER names it\n"+
			"  helm-locker lock shop -n APPS locks it; --helmrelease-namespace looks elsewhere\n  --allow-empty accepts that\n")
	w.app("lock", "shop", "--may-not-exist").says(0, "created")
	w.cli("suspend", "shop", "-n", "default").is(5, "", "helm-locker: release default/shop is not locked: no HelmRelease in "+
		"namespace LOCKER names it\n  did you mean shop -n APPS?\n  --allow-empty accepts that\n")
	w.cli("unlock", "shop", "-n", "kube-public").is(5, "", "helm-locker: release kube-public/shop is not locked: no HelmRelease in "+
		"namespace LOCKER names it\n  did you mean shop -n APPS?\n  --allow-empty accepts that\n")
	w.app("suspend", "shop").is(0, "HelmRelease LOCKER/shop suspended until it is resumed: release APPS/shop\n", "")
	w.app("suspend", "shop").is(0, "HelmRelease LOCKER/shop already suspended until it is resumed: release APPS/shop\n",
		"")
	w.app("suspend", "shop", "--until", "2099-01-31T18:00:00+01:00", "-o", "json").says(0, `"suspendUntil": "TIME"`)
	hr := w.HelmRelease("shop")
	until := metav1.NewTime(time.Date(2099, 1, 31, 17, 0, 0, 0, time.UTC))
	check.That(t, !hr.Spec.Suspend && hr.Spec.SuspendUntil.Equal(&until), "spec is %+v", hr.Spec)
	w.app("suspend", "shop", "--dry-run").says(0, "suspended until it is resumed", "(dry run)")
	w.app("suspend", "shop", "--until", "2099-01-31T17:00:00Z").says(0, "already suspended until TIME")
	w.app("resume", "shop").says(0, "resumed")
	hr = w.HelmRelease("shop")
	check.That(t, !hr.Spec.Suspend && hr.Spec.SuspendUntil == nil && len(hr.Annotations) == 0, "HelmRelease is %+v", hr)
	w.CreateHelmRelease("second", func(hr *v1alpha1.HelmRelease) { hr.Spec.Release.Name = "shop" })
	w.app("suspend", "shop").is(1, "", "helm-locker: 2 HelmReleases name release APPS/shop\n  choose one with --name\n")
	w.app("suspend", "shop", "--name", "second").says(0, "HelmRelease LOCKER/second suspended")
	w.app("unlock", "shop").says(0, "LOCKER/second deleted", "LOCKER/shop deleted")
}

func TestChangeErrors(t *testing.T) {
	w := newFixture(t)
	w.installShop(kit.Shared.Helm3(), "shop")
	const accept = "  --may-not-exist locks it when it appears\n"
	w.app("lock", "shoop").is(5, "", "helm-locker: release APPS/shoop does not exist\n  did you mean shop?\n"+accept)
	w.cli("lock", "shop", "-n", "no-such-namespace", "--dry-run").is(5, "",
		"helm-locker: namespace \"no-such-namespace\" does not exist\n"+accept)
	w.app("lock", "shoop", "--may-not-exist").is(0,
		"HelmRelease LOCKER/shoop created: release APPS/shoop, which does not exist yet and is locked when it appears\n", "")
	w.app("lock", "shoop").says(0, "unchanged: release APPS/shoop, which does not exist yet") // accepted before
	w.app("lock", "shop", "--must-exist", "--may-not-exist").says(1, "--must-exist and --may-not-exist exclude each other")
	w.app("lock", "shop", "--ignore", "/spec/replicas", "--ignore", "/spec/replcias", "--mode", "Detect").is(1, "",
		"helm-locker: --ignore /spec/replcias: no object of release APPS/shop has such a field\n"+
			"  did you mean /spec/replicas? --may-not-exist adds the rule as it is\n")
	w.app("lock", "shop", "--ignore", "/spec/replcias", "--may-not-exist", "--dry-run").is(0,
		"HelmRelease LOCKER/shop created: release APPS/shop, revision 1, deployed (dry run)\n",
		"note: --ignore /spec/replcias: no object of release APPS/shop declares such a field now\n")
	w.app("lock", "shop", "--ignore", "/spec/minReadySeconds", "--dry-run").says(0,
		"note: --ignore /spec/minReadySeconds: no object of release APPS/shop declares such a field now\n")
	w.app("lock", "shopp", "--must-exist").says(5, "release APPS/shopp does not exist", "did you mean shop?")
	w.app("lock", "Shop").is(1, "", "helm-locker: \"Shop\" is no name of a release\n  write NAME, or NAMESPACE/NAME\n")
	w.app("lock", "shop", "--helmrelease-namespace", "nowhere").is(1, "",
		"helm-locker: namespace \"nowhere\" does not exist\n"+
			"  install the operator, which brings it: helm install helm-locker charts/helm-locker -n cattle-helm-system --create-namespace\n"+
			"  or name the namespace that your operator manages with --helmrelease-namespace\n")
	w.as("reader", rule("get,list", "", "secrets")).app("lock", "shop").says(1, `cannot list resource "helmreleases"`,
		"reader needs a Role with verbs: [list], apiGroups: [\"helm.cattle.io\"], resources: [helmreleases], bound in namespace LOCKER\n")
}
