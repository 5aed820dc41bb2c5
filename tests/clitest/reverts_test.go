package clitest

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// hotfixed makes changes of three objects of the shop by hand.
func (w *fixture) hotfixed() {
	w.Helper()
	w.Patch(kit.Deployments, "shop", `{"spec":{"replicas":7,"template":{"spec":{"containers":[{"name":"shop","image":"example.org/shop:2","resources":{"requests":{"cpu":"1"}}}]}}}}`)
	w.Patch(kit.Secrets, "shop", `{"stringData":{"password":"`+secretValue+`-2"}}`)
	w.Delete(kit.Services, "shop")
}

// hotfixes is the announcement of hotfixed, before the line with other ways.
const hotfixes = `release APPS/shop has drifted; its lock reverts 3 objects:
  Deployment APPS/shop: revert spec.replicas 7 -> 2, spec.template.spec.containers[0].image example.org/shop:2 -> example.org/shop:1
    to keep it by Helm: helm-locker values shop -n APPS deployment/shop spec.replicas=7 'spec.template.spec.containers[0].image=example.org/shop:2'
  Secret APPS/shop: revert data[password] <secret X> -> <secret X>
    to keep it by Helm: helm-locker values shop -n APPS secret/shop 'data[password]=...'
  Service APPS/shop: re-create it
`

const (
	hotfixesOfANewLock = hotfixes + "  to leave it: helm-locker lock shop -n APPS --mode Detect, or " +
		"helm-locker lock shop -n APPS --ignore /spec/replicas --ignore /spec/template/spec/containers/0/image --ignore /data/password\n"
	hotfixesOfALock = hotfixes + "  to leave it: helm-locker suspend shop -n APPS --for 1h, or " +
		"helm-locker lock shop -n APPS --ignore /spec/replicas --ignore /spec/template/spec/containers/0/image --ignore /data/password\n"
	noTerminal = "helm-locker: nothing was changed: there is no terminal to ask at\n  --yes does it without asking; --dry-run only looks\n"
)

// A lock that begins to enforce announces what it reverts, and is not made without a yes.
func TestLockAnnouncesReverts(t *testing.T) {
	w := newFixture(t)
	w.installShop(kit.Shared.Helm4(), "shop")
	w.hotfixed()
	before := w.Versions(w.Apps, kit.Secrets)
	w.app("lock", "shop").is(2, "", hotfixesOfANewLock+noTerminal)
	_, err := w.In(kit.HelmReleases, w.Operator).Get(w.Ctx, "shop", metav1.GetOptions{})
	check.That(t, errors.IsNotFound(err), "there is a HelmRelease, or %v", err)
	w.app("lock", "shop", "--dry-run").is(0,
		"HelmRelease LOCKER/shop created: release APPS/shop, revision 1, deployed (dry run)\n", hotfixesOfANewLock)
	r := w.app("lock", "shop", "--dry-run", "-o", "yaml")
	check.That(t,
		strings.HasPrefix(r.stdout, "apiVersion: helm.cattle.io/") && r.stderr == hotfixesOfANewLock &&
			!givesAway(r.raw+r.stderr), "stdout\n%s\nstderr\n%s", r.stdout, r.stderr)
	w.app("lock", "shop", "--mode", "Detect").is(0,
		"HelmRelease LOCKER/shop created: release APPS/shop, revision 1, deployed\n", "")
	w.app("lock", "shop", "--mode", "Enforce").is(2, "", hotfixesOfALock+noTerminal)
	check.Equal(t, w.HelmRelease("shop").Spec.Mode, v1alpha1.ModeDetect, "mode")
	w.ExpectVersions(before, w.Apps, kit.Secrets)

	kit.StartOperator(t, w.OperatorConfig(), w.Operator)
	w.app("lock", "shop", "--mode", "Enforce", "-y", "--wait").says(0, hotfixesOfALock, "HelmRelease LOCKER/shop changed")
	w.app("diff", "shop").says(0, "no drift")
	w.app("lock", "shop", "--scope", "Strict").is(0, "HelmRelease LOCKER/shop changed: release APPS/shop, revision 1, deployed\n", "")
}

// The end of a suspension, and protection of more fields, are announced, too.
func TestResumeAnnouncesReverts(t *testing.T) {
	w := newFixture(t)
	w.installShop(kit.Shared.Helm3(), "shop")
	w.Helm(kit.Shared.Helm4(), "install", "kiosk", w.Chart("kiosk", kit.ConfigMap("kiosk", "one")))
	w.app("lock", "shop", "kiosk", "--ignore", "/data/size", "--may-not-exist").says(0, "created")
	w.app("suspend", "--all").says(0, "suspended")
	w.app("resume", "--all").is(0, "HelmRelease LOCKER/kiosk resumed: release APPS/kiosk\n"+
		"HelmRelease LOCKER/shop resumed: release APPS/shop\n", "")
	w.app("suspend", "--all").says(0, "suspended")
	w.hotfixed()
	w.Patch(kit.ConfigMaps, "kiosk", `{"data":{"key":"two"}}`)
	const kiosk = `release APPS/kiosk has drifted; its lock reverts 1 object:
  ConfigMap APPS/kiosk: revert data[key] two -> one
    to keep it by Helm: helm-locker values kiosk -n APPS configmap/kiosk 'data[key]=two'
  to leave it: helm-locker suspend kiosk -n APPS --for 1h, or helm-locker lock kiosk -n APPS --ignore /data/key
`
	w.app("resume", "--all").is(2, "", kiosk+hotfixesOfALock+noTerminal)
	w.app("resume", "--all", "--dry-run", "-o", "name").is(0,
		"helmrelease.helm.cattle.io/kiosk\nhelmrelease.helm.cattle.io/shop\n", kiosk+hotfixesOfALock)
	spec := w.HelmRelease("shop").Spec
	check.That(t, spec.Suspend, "spec is %+v", spec)
	w.app("resume", "--all", "--yes").is(0, "HelmRelease LOCKER/kiosk resumed: release APPS/kiosk\n"+
		"HelmRelease LOCKER/shop resumed: release APPS/shop\n", kiosk+hotfixesOfALock)
	w.app("resume", "--all").says(0, "already resumed")

	w.Patch(kit.ConfigMaps, "shop", `{"data":{"size":"11"}}`)
	w.app("lock", "shop", "--guard", "Warn").says(0, "changed") // which reverts nothing more than before
	w.app("lock", "shop", "--unignore", "/data/size").says(2, `  ConfigMap APPS/shop: revert data[size] 11 -> 10`, noTerminal)
	w.app("lock", "shop", "--unignore", "/data/size", "--yes").says(0, "changed")
}

// A user who may not read objects learns that drift is not known, and locks all the same.
func TestLockOfWhatCannotBeCompared(t *testing.T) {
	w := newFixture(t)
	w.installShop(kit.Shared.Helm4(), "shop")
	w.hotfixed()
	locker := w.as("locker", rule("get,list", "", "secrets"))
	w.Kubectl("create", "role", "locker", "-n", w.Operator, "--verb=get,list,create,patch", "--resource=helmreleases.helm.cattle.io")
	w.Kubectl("create", "rolebinding", "locker", "-n", w.Operator, "--role=locker", "--user=locker")
	r := locker.app("lock", "shop", "--yes")
	r.says(0, "HelmRelease LOCKER/shop created: release APPS/shop",
		"note: drift that is reverted in 3 objects of release APPS/shop is not known: ConfigMap APPS/shop: ", "forbidden",
		"Secret APPS/shop: revert data[password]", "note: release APPS/shop is compared locally: no permission for a dry run")
	w.app("unlock", "shop").says(0, "deleted")

	w.Forge(kit.ForgedRecord{Name: "kiosk", Status: "pending-upgrade", Manifest: kit.ConfigMap("kiosk", "one")})
	w.app("lock", "kiosk").is(0, "HelmRelease LOCKER/kiosk created: release APPS/kiosk, revision 1, pending-upgrade\n",
		"note: drift that is reverted in release APPS/kiosk is not known: its newest revision, 1, is pending-upgrade\n")
	w.Forge(kit.ForgedRecord{Name: "till", Manifest: kit.ConfigMap("till", "one")})
	w.as("blind").app("lock", "till").says(1, "forbidden")
}

// A policy announces what it reverts in the releases that exist.
func TestLockOfManyAnnouncesReverts(t *testing.T) {
	w := newFixture(t)
	w.installShop(kit.Shared.Helm4(), "shop")
	w.Helm(kit.Shared.Helm4(), "install", "kiosk", w.Chart("kiosk", kit.ConfigMap("kiosk", "one")))
	w.app("lock", "kiosk", "--mode", "Detect").says(0, "created")
	w.Patch(kit.ConfigMaps, "kiosk", `{"data":{"key":"two"}}`) // which stays so by that HelmRelease
	w.app("lock", "--all", "--mode", "Detect", "--name", "many").says(0, "created")
	w.hotfixed()
	all := []string{"lock", "--all", "--mode", "Enforce", "--name", "many", "--accept-records-of-anyone"}
	w.app(all...).is(2, "", hotfixesOfANewLock+noTerminal)
	w.app(append(all, "--dry-run")...).says(0, hotfixesOfANewLock, "HelmReleasePolicy LOCKER/many changed")
	p, err := w.In(kit.HelmReleasePolicies, w.Operator).Get(w.Ctx, "many", metav1.GetOptions{})
	check.That(t, err == nil && strings.Contains(fmt.Sprint(p.Object), "mode:Detect"), "policy is %v, %v", p, err)
	w.app(append(all, "--yes")...).says(0, hotfixesOfANewLock, "HelmReleasePolicy LOCKER/many changed")
	w.app(all...).says(0, "unchanged")
}

// At a terminal the question is asked, and the answer counts.
func TestLockAsksAtATerminal(t *testing.T) {
	w := newFixture(t)
	w.Helm(kit.Shared.Helm4(), "install", "kiosk", w.Chart("kiosk", kit.ConfigMap("kiosk", "one")))
	w.Patch(kit.ConfigMaps, "kiosk", `{"data":{"key":"two"}}`)
	for _, tc := range []struct {
		answer string
		code   int
		want   string
	}{{"\n", 2, "helm-locker: nothing was changed\n"}, {"y\n", 0, "HelmRelease " + w.Operator + "/kiosk created"}} {
		master, terminal := pty(t)
		_, err := master.WriteString(tc.answer)
		check.NoError(t, err)
		cmd := w.command(w.Ctx, "lock", "kiosk", "-n", w.Apps)
		cmd.Stdin = terminal
		out, err := cmd.CombinedOutput()
		got := cmd.ProcessState.ExitCode()
		check.That(t,
			got == tc.code && strings.Contains(string(out), tc.want) &&
				strings.Contains(string(out), "--ignore /data/key\nRevert these? [y/N] "), "after %q: exit code %d, %v\n%s",
			tc.answer, got, err, out)
	}
}

// pty returns both ends of a new terminal.
func pty(t *testing.T) (master, terminal *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	check.NoError(t, err)
	t.Cleanup(func() { check.NoError(t, master.Close()) })
	check.NoError(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	check.NoError(t, err)
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	check.NoError(t, err)
	t.Cleanup(func() { check.NoError(t, terminal.Close()) })
	return master, terminal
}
