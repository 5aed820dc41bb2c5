package clitest

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// heldShop is the announcement of hotfixed for a held release.
const heldShop = hotfixes + "  to leave it: an ignore rule in the template of HelmReleasePolicy all, or an entry of its spec.exclude\n"

// A rollout holds a release with drift. status, check and preview name it, and enforce has the rollout revert the drift
// after a yes.
func TestEnforce(t *testing.T) {
	w := newFixture(t)
	w.installShop(kit.Shared.Helm4(), "shop")
	w.Helm(kit.Shared.Helm4(), "install", "calm", w.Chart("calm", kit.ConfigMap("calm", "1")))
	w.hotfixed()
	kit.StartWithPolicies(t, w.OperatorConfig(), w.Operator)
	w.stdin = `{apiVersion: helm.cattle.io/v1alpha1, kind: HelmReleasePolicy, metadata: {name: all, namespace: ` + w.Operator +
		`}, spec: {match: {namespaces: [` + w.Apps + `]}, rollout: {interval: 1m, holdFor: 48h}, acceptRecordsOfAnyone: true}}`
	w.cli("policy", "preview", "-f", "-").says(0, "enforced: 10 within 60s, those without drift first; those with drift are held "+
		"until it is over or a user agrees to the revert (helm-locker enforce), or for 2d\n")
	stored := &unstructured.Unstructured{}
	check.NoError(t, yaml.Unmarshal([]byte(w.stdin), stored))
	_, err := w.In(kit.HelmReleasePolicies, w.Operator).Create(w.Ctx, stored, metav1.CreateOptions{})
	check.NoError(t, err)
	w.Until("the rollout holds the shop", func() (any, bool) {
		r := w.cli("status", "--policies")
		return r, strings.Contains(r.stdout, "Progressing 1/2, 1 held")
	})
	name := w.Apps + ".shop"
	w.app("status", "shop").says(0, "Held since:", "TIME, because of drift")
	w.app("status", "shop", "-o", "json").says(0, `"heldSince": "TIME"`)
	const held = "the rollout of policy all holds it in mode Detect because of drift: Deployment APPS/shop: spec.replicas, "
	const advice = "helm-locker enforce shop -n APPS shows and reverts the drift"
	w.app("check").says(0, held, advice, "its rollout waits: 1 held because of drift (APPS/shop)", "after TIME reverts it unasked")
	w.cli("status").says(0, held, advice)
	w.cli("policy", "preview", "all").says(0, "holds it because of drift")

	const yes = "HelmRelease LOCKER/APPS.shop: the rollout of policy all may enforce revision 1 of release APPS/shop"
	w.app("enforce", "shop").is(2, "", heldShop+noTerminal)
	w.app("enforce", "shop", "--dry-run").is(0, yes+" (dry run)\n", heldShop)
	hr := w.HelmRelease(name)
	check.That(t, hr.Spec.Mode == v1alpha1.ModeDetect && hr.Annotations[v1alpha1.EnforceRevisionAnnotation] == "",
		"without a yes: mode %s, %v", hr.Spec.Mode, hr.Annotations)
	w.app("enforce", "--all", "--yes", "--wait").says(0, heldShop, yes+"\n", "waiting for the rollout of policy all\n",
		"done: revision 1 is locked, ")
	w.WaitField(kit.Deployments, "shop", "spec.replicas", int64(2))
	w.Until("the rollout is complete", func() (any, bool) {
		r := w.cli("status", "--policies")
		return r, strings.Contains(r.stdout, "Complete 2/2")
	})

	w.app("enforce", "shop").is(1, "", "helm-locker: no rollout holds release APPS/shop: HelmRelease LOCKER/APPS.shop has mode "+
		"Enforce, and is not held because of drift\n")
	w.app("enforce", "--all").is(5, "", "helm-locker: no rollout holds a selected release because of drift\n"+
		"  --allow-empty accepts that\n")
	w.app("enforce", "--all", "--allow-empty").is(0, "", "no rollout holds a selected release because of drift\n")
	w.app("enforce").says(1, "the name of a release is missing")
	w.app("enforce", "kiosk").says(5, "release APPS/kiosk is not locked")
	w.CreateHelmRelease("by-hand", func(hr *v1alpha1.HelmRelease) {
		hr.Spec.Release.Name, hr.Spec.Mode = "kiosk", v1alpha1.ModeDetect
	})
	w.app("enforce", "kiosk").says(1, "no rollout holds release APPS/kiosk", "helm-locker lock kiosk -n APPS --mode Enforce enforces it")
}
