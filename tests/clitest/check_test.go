package clitest

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// TestCheck reads the command's output about one cluster as it gets worse.
func TestCheck(t *testing.T) {
	w := newFixture(t)
	const definition = "ok       CustomResourceDefinition helmreleases.helm.cattle.io: installed, and as this version of the program needs it\n"
	w.app("check").says(0, "ok       API server: Kubernetes v1.", definition, "LOCKER/helm-locker: it has no Lease")

	o := kit.StartOperator(t, w.OperatorConfig(), w.Operator, func(o *operator.ControllerOptions) {
		o.LeaderElection = true
	})
	kit.StartPolicies(t, w.OperatorConfig(), w.Operator)
	w.installShop(kit.Shared.Helm4(), "bakery")
	w.Forge(kit.ForgedRecord{Name: "cellar", Manifest: kit.ConfigMap("cellar", "one")})
	w.app("lock", "bakery", "--wait").says(0, "done: revision 1 is locked")
	w.app("check").says(0, definition, "ok       operator LOCKER/LOCKER: running, last seen TIME\n",
		"ok       HelmReleases: 1 release locked, or watched as wanted\n",
		"note     releases: 1 release that no HelmRelease names: APPS/cellar\n"+
			"         helm-locker lock NAME -n NAMESPACE locks one\n")

	w.app("suspend", "bakery", "--wait").says(0)
	w.app("check").says(0, "warning  HelmRelease LOCKER/bakery: release APPS/bakery has been suspended for ", ", until it is resumed, and is not protected\n"+
		"         helm-locker resume bakery -n APPS ends it\n")
	w.app("resume", "bakery", "--wait").says(0)
	w.app("lock", "gone", "--may-not-exist").says(0)
	w.app("check").says(0) // also when the operator has not taken it up yet
	w.WaitReason("gone", v1alpha1.ConditionReady, v1alpha1.ReasonSecretNotFound)
	w.app("check").says(0, "warning  HelmRelease LOCKER/gone: SecretNotFound: ")

	elsewhere := w.Namespace("elsewhere")
	w.cli("lock", "cellar", "-n", w.Apps, "--helmrelease-namespace", elsewhere, "--yes").says(0)
	w.app("check").says(2, "error    HelmRelease elsewhere", "no operator has taken it up\n"+
		"         an operator takes up the HelmReleases of its own namespace")

	lockAll := func(namespace string) {
		w.cli("lock", "--all", "--allow-empty", "-n", w.Apps, "--helmrelease-namespace", namespace, "--name", "all", "--mode", "Detect").says(0)
	}
	lockAll(w.Apps)
	w.app("check").says(2, "error    HelmReleasePolicy APPS/all: it is not followed\n"+
		"         helm-locker policies follows those of its own namespace (policies.enabled in the chart): move it there, or run that process in namespace APPS\n")
	w.cli("policy", "preview", "all").is(1, "", "helm-locker: HelmReleasePolicy APPS/all is outside of namespace LOCKER, "+
		"where it counts\n  --helmrelease-namespace names the namespace of another operator\n")
	w.cli("policy", "preview", "all", "--helmrelease-namespace", w.Apps).says(0,
		"note: HelmReleasePolicy APPS/all: it is not followed; helm-locker policies follows those of its own namespace")
	lockAll(w.Operator)
	w.Eventually("the policy is followed", func() error {
		if r := w.app("check"); !strings.Contains(r.stdout, "ok       HelmReleasePolicies: 1 of them followed\n") {
			return errors.New(r.stdout)
		}
		return nil
	})

	w.cli("lock", "--all", "--allow-empty", "-n", w.Apps, "--name", "all", "--mode", "Enforce").says(0)
	w.Eventually("the policy waits for an acceptance", func() error {
		r := w.app("check")
		if !strings.Contains(r.stdout, "error    HelmReleasePolicy LOCKER/all: AcceptanceRequired: no more releases are enforced") {
			return errors.New(r.stdout)
		}
		return nil
	})
	w.cli("lock", "--all", "--allow-empty", "-n", w.Apps, "--name", "all", "--accept-records-of-anyone", "--yes").says(0)
	w.Eventually("an accepted policy says who gets which rights", func() error {
		r := w.app("check")
		if !strings.Contains(r.stdout, "note     HelmReleasePolicy LOCKER/all: unless the operator runs with --impersonate or --trust-records=Witnessed, releases "+
			"are enforced with the operator's own rights: every user who may write a release record (a Secret) in a matched namespace ") {
			return errors.New(r.stdout)
		}
		return nil
	})
	lockAll(w.Operator)

	o.Stop()
	stopped := w.app("check")
	stopped.says(2, "error    operator LOCKER/LOCKER: it does not run: last seen TIME\n"+
		"         start it, or find out why it ended: kubectl -n LOCKER get pods, and kubectl logs\n",
		" not protected now, because the operator does not run\n")
	check.That(t, !strings.Contains(stopped.stdout, "locked, or watched as wanted"), "locked without an operator:\n%s",
		stopped.stdout)
	r := w.app("check", "-o", "json")
	check.That(t, r.code == 2 && strings.Contains(r.stdout, `"level": "error"`), "%+v", r)
	w.app("check", "bakery").says(1, `unexpected argument "bakery"`)
}

func TestCheckOfARecordThatHelmDidNotWrite(t *testing.T) {
	w := newFixture(t)
	secrets := w.Kube.CoreV1().Secrets(w.Apps)
	_, err := secrets.Create(w.Ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "sh.helm.release.v1.web.v1", Labels: map[string]string{"owner": "helm",
			"name": "web", "version": "one", "status": "deployed"}},
		Type: "helm.sh/release.v1",
	}, metav1.CreateOptions{})
	check.NoError(t, err)
	// Other tests list the records of all namespaces.
	defer func() {
		check.Report(t, secrets.Delete(w.Ctx, "sh.helm.release.v1.web.v1", metav1.DeleteOptions{}))
	}()
	w.app("check").says(0, "warning  records in Secrets: ", "sh.helm.release.v1.web.v1")
	w.as("nobody").app("check").says(2, "warning  CustomResourceDefinition", "needs a ClusterRole with verbs: [get]",
		"error    HelmReleases: it is not known whether releases are protected: list the HelmReleases: ")
}
