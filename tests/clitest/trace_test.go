package clitest

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// podName returns the name of a Pod of the shop.
func (w *fixture) podName() (name string) {
	w.Helper()
	w.Eventually("the shop has a Pod", func() error {
		list, err := w.Kube.CoreV1().Pods(w.Apps).List(w.Ctx, metav1.ListOptions{LabelSelector: "app=shop"})
		if err != nil {
			return err
		}
		if len(list.Items) == 0 {
			return errors.New("there is none yet")
		}
		name = list.Items[0].Name
		return nil
	})
	return name
}

var replicaSets = regexp.MustCompile(`shop-[0-9a-f]{5,10}\b`)

// From a Pod to the lock, and the state of each link.
func TestTrace(t *testing.T) {
	w := newFixture(t)
	w.installShop(kit.Shared.Helm4(), "shop")
	const release = "Release:      APPS/shop, revision 1, deployed (named by the metadata of Deployment APPS/shop)\n" +
		"Declared:     yes: Deployment APPS/shop\n"
	w.app("trace", "deployment/shop").is(0, "Object:       Deployment APPS/shop\n"+release+
		"HelmRelease:  none\nDrift:        none\nAdvice:       helm-locker lock shop -n APPS locks the release\n", "")
	for _, kind := range []string{"deploy", "deployments", "Deployment", "deployments.apps", "deploy.apps", "deployments.v1.apps"} {
		w.app("trace", kind+"/shop").says(0, "Object:       Deployment APPS/shop\n")
		w.app("trace", kind, "shop").says(0, "Object:       Deployment APPS/shop\n")
	}

	elect := func(o *operator.ControllerOptions) { o.LeaderElection = true }
	o := kit.StartOperator(t, w.OperatorConfig(), w.Operator, elect)
	w.Lock("shop", func(hr *v1alpha1.HelmRelease) {
		hr.Spec.Ignore = []v1alpha1.IgnoreRule{{Paths: []string{"/spec/replicas"}}, {Paths: []string{"/data/color"}}}
	})
	w.Kubectl("scale", "deployment/shop", "--replicas=3")
	const lock = "HelmRelease:  LOCKER/shop\n" + "Locked:       yes, mode Enforce, scope Declared\n" +
		"Ready:        True, Locked: revision 1 locked: 4 objects\n" +
		"Operator:     running, last seen TIME\n" +
		"Ignored:      /spec/replicas\nDrift:        none\n" +
		"Advice:       helm-locker values shop -n APPS deployment/shop PATH=VALUE shows how to change it with Helm; " +
		"helm-locker suspend shop -n APPS --for 30m allows changes at once\n"
	pod := w.podName()
	r := w.app("trace", "po/"+pod)
	r.stdout = replicaSets.ReplaceAllString(r.stdout, "shop-HASH")
	r.is(0, "Object:       Pod APPS/"+replicaSets.ReplaceAllString(pod, "shop-HASH")+
		"\nOwned by:     ReplicaSet APPS/shop-HASH, Deployment APPS/shop\n"+release+lock, "")

	w.app("suspend", "shop", "--for", "1h", "--reason", "a test", "--wait").says(0)
	w.Kubectl("patch", "configmap", "shop", "-p", `{"data":{"size":"11"}}`)
	w.app("trace", "cm/shop").says(0, "Locked:       suspended until TIME (a test), mode Enforce, scope Declared\n",
		"Ignored:      /data/color\n", "Drift:        data[size]\n              changed by kubectl-patch (Update) at TIME",
		"Advice:       helm-locker resume shop -n APPS ends it\n")
	w.Kubectl("delete", "service", "shop")
	type traced struct {
		Object  struct{ Kind, Name, Exists string }
		Release struct {
			NamedBy  *struct{}
			Declares string
			Revision int
		}
		HelmReleases []struct{ Name, Locked, Operator string }
		Drift        struct{ State, Reason string }
		Advice       string
	}
	r = w.app("trace", "svc", "shop", "-o", "json")
	out := itemsOf[traced](r)[0]
	check.That(t,
		out.Object.Exists == "no" && out.Release.NamedBy == nil && out.Release.Declares == "yes" &&
			out.Release.Revision == 1 && len(out.HelmReleases) == 1 && out.HelmReleases[0].Operator == "running" &&
			out.HelmReleases[0].Locked == "suspended" && out.Drift.State == "drifted" && r.code == 0, "exit code %d, %s%s",
		r.code, r.raw, r.stderr)
	w.app("resume", "shop", "--yes", "--wait").says(0)
	o.Stop()
	w.app("trace", "secret/shop").says(0, "Locked:       yes when its operator last ran, mode", "Operator:     stopped, last seen TIME\n",
		"Advice:       start the operator: nothing is reverted now; helm-locker check -n APPS shows more\n")
	r = w.app("trace", "secret/shop", "-o", "yaml")
	check.That(t, r.code == 0 && !givesAway(r.raw), "exit code %d, or a Secret is given away:\n%s", r.code, r.raw)
}

// No answer is better than a wrong one.
func TestTraceOfWhatNobodyDeclares(t *testing.T) {
	w := newFixture(t)
	w.installShop(kit.Shared.Helm3(), "shop")
	w.Helm(kit.Shared.Helm3(), "upgrade", "shop", w.Chart("shop", shop), "--set", "password="+secretValue)

	w.app("trace", "configmap/shop-hook").says(0, "Declared:     no: Helm creates ConfigMap APPS/shop-hook as a hook (pre-upgrade)\n",
		"Advice:       change the hook in the chart: no lock protects the objects of hooks\n")
	w.app("trace", "serviceaccount/default").is(5, "Object:   ServiceAccount APPS/default\nRelease:  none\n"+
		"Advice:   none: Helm does not manage the object, and no lock protects it\n",
		"helm-locker: no release in namespace APPS declares ServiceAccount APPS/default\n")
	w.app("trace", "cm/shpo").says(5, "ConfigMap APPS/shpo does not exist, and no release in namespace APPS declares it\n",
		"  did you mean configmap/shop?\n")
	w.cli("trace", "cm/shop", "-n", "no-such-namespace").says(5, `namespace "no-such-namespace" does not exist`)
	w.app("trace", "deploymnet/shop").says(1, `the cluster serves no kind "deploymnet"`, "did you mean deployment?")
	w.app("trace", "shop").says(1, `"shop" is no object: write KIND/NAME`)
	w.app("trace").says(1, "the object is missing")
	w.app("trace", "cm/a/b").says(1, "write KIND/NAME, and its namespace with -n")
	w.app("trace", "cm", "a", "b").says(1, `unexpected argument "b"`)

	// Any user may write the metadata of an object of their own.
	forge := func(name, key string) {
		namespace, release, _ := strings.Cut(key, "/")
		w.Kubectl("create", "configmap", name)
		w.Kubectl("annotate", "configmap", name, "meta.helm.sh/release-name="+release, "meta.helm.sh/release-namespace="+namespace)
	}
	forge("claims", w.Apps+"/shop")
	w.app("trace", "cm/claims").says(5, "Release:      APPS/shop, revision 2, deployed (named by the metadata of ConfigMap APPS/claims)\n",
		"Declared:     no: ConfigMap APPS/claims is not in the manifest of revision 2\n",
		"Advice:       helm-locker inspect shop -n APPS --manifest shows what the release declares")
	// A forged name in a Pod does not hide the release of its Deployment, nor does one there.
	pod := w.podName()
	w.Kubectl("annotate", "pod", pod, "meta.helm.sh/release-name=none", "meta.helm.sh/release-namespace="+w.Apps)
	w.app("trace", "pod", pod).says(0, "(named by the metadata of Deployment APPS/shop)\n", "Declared:     yes: Deployment APPS/shop\n")
	w.Kubectl("annotate", "--overwrite", "pod", pod, "meta.helm.sh/release-name=shop")
	w.Kubectl("annotate", "--overwrite", "deployment", "shop", "meta.helm.sh/release-name=none")
	w.app("trace", "pod", pod).says(0, "(named by the metadata of Pod APPS/shop-", "Declared:     yes: Deployment APPS/shop\n")
	forge("claims-none", w.Apps+"/none")
	w.app("trace", "cm/claims-none").says(5, "APPS/none, which has no record (named by", "Declared:     no\n")
	forge("claims-text", w.Apps+"/x,owner=y")
	w.app("trace", "cm/claims-text").says(5, "Release:  none\n")
	// The release that declares an object is found whatever the metadata names.
	w.Kubectl("annotate", "--overwrite", "configmap", "shop", "meta.helm.sh/release-name=other")
	w.app("trace", "cm/shop").says(0, "Release:      APPS/shop, revision 2, deployed (found by its record)\n", "Drift:        metadata.annotations")
}

func TestTraceWithoutRights(t *testing.T) {
	w := newFixture(t)
	w.installShop(kit.Shared.Helm4(), "shop")
	w.CreateHelmRelease("shop")
	viewer := w.as("viewer", rule("get,list", ",apps", "configmaps,deployments"))
	viewer.app("trace", "deploy/shop").says(1, "APPS/shop, unknown: list the release records: secrets is forbidden", "Declared:     unknown: ",
		"HelmRelease:  unknown: list the HelmReleases: ", "Advice:       viewer needs a Role with verbs: [list]")
	viewer.app("trace", "secret/shop").says(1, "Object:   Secret APPS/shop, unknown: get Secret APPS/shop: ")
	engineer := w.as("engineer", rule("get,list", ",apps", "configmaps,deployments,secrets"))
	engineer.app("trace", "deploy/shop").says(0, "Declared:     yes: Deployment APPS/shop\n", "HelmRelease:  unknown: list the HelmReleases: ",
		"Drift:        none\n", "Advice:       engineer needs a Role with verbs: [list], apiGroups: [\"helm.cattle.io\"]")
	w.app("trace", "deploy/shop").says(0, "Locked:       unknown, mode Enforce", "Ready:        unknown: no operator has looked at it yet\n",
		"Operator:     unknown: none has taken up the HelmRelease\n")
}
