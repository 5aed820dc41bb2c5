package clitest

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// The reason and the author of a suspension are in the conditions, and so in notifications, and in an event.
func TestSuspensionNamesItsReasonAndAuthor(t *testing.T) {
	w := newFixture(t)
	w.installShop(kit.Shared.Helm4(), "shop")
	kit.StartOperator(t, w.OperatorConfig(), w.Operator)
	w.Lock("shop")
	w.app("suspend", "shop", "--reason", "INC-7", "--wait").says(0, "suspended until it is resumed (INC-7)")
	author := w.HelmRelease("shop").Annotations[v1alpha1.SuspendedByAnnotation]
	check.Must(t, author != "", "the suspension has no author")
	want := "suspended by spec.suspend (INC-7), by " + author + "; nothing is reverted"
	for _, condition := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionLocked} {
		c := w.Condition("shop", condition)
		check.That(t, c.Message == want, "%s is %q, want %q", condition, c.Message, want)
	}
	w.Until("an event has them", func() (any, bool) {
		events, err := w.Kube.CoreV1().Events(w.Operator).List(w.Ctx, metav1.ListOptions{})
		if err != nil {
			return err, false
		}
		var texts []string
		for _, e := range events.Items {
			texts = append(texts, e.Reason+": "+e.Message)
		}
		all := strings.Join(texts, "\n")
		return all, strings.Contains(all, v1alpha1.EventReasonSuspended+": "+want)
	})
}

// The operator does not compare a suspended release. So its status has no count, and the status command makes one.
func TestStatusCountsTheDriftOfASuspendedRelease(t *testing.T) {
	w := newFixture(t)
	w.installShop(kit.Shared.Helm4(), "shop")
	w.Helm(kit.Shared.Helm4(), "install", "calm", w.Chart("calm", kit.ConfigMap("calm", "one")))
	kit.StartOperator(t, w.OperatorConfig(), w.Operator)
	w.Lock("shop")
	w.Lock("calm")
	w.app("suspend", "shop", "calm", "--for", "1h", "--wait").says(0)
	w.Patch(kit.Deployments, "shop", `{"spec":{"replicas":7}}`)
	out, err := w.Dynamic.Resource(kit.HelmReleases).Namespace(w.Operator).Get(w.Ctx, "shop", metav1.GetOptions{})
	check.NoError(t, err)
	_, found, err := unstructured.NestedMap(out.Object, "status", "objects")
	check.That(t, err == nil && !found, "status.objects is there: %v %v", out.Object["status"], err)
	if c := w.Condition("shop", v1alpha1.ConditionDrifted); !strings.Contains(c.Message, "helm-locker status and diff do") {
		t.Errorf("Drifted is %+v", c)
	}

	const note = "note: the end of the pause reverts 1 object of APPS/shop; helm-locker diff RELEASE -n NAMESPACE shows what\n"
	r := w.app("status")
	r.says(0, note)
	for name, want := range map[string]string{"shop": "1/4", "calm": "0/1"} {
		row := rowOf(r.stdout, name)
		check.That(t, len(row) >= 5 && row[4] == want, "row of %s is %q, want %s drifted", name, row, want)
	}
	w.app("status", "shop").says(0, "4 compared by this command, 1 would be reverted at the end of the pause\n")
	w.app("status", "shop", "-o", "json").says(0, `"wouldBeReverted": 1`)
	w.app("status", "calm", "-o", "json").says(0, `"wouldBeReverted": 0`)
	w.app("resume", "shop").says(2, "Deployment APPS/shop: revert spec.replicas 7 -> 2")

	w.app("suspend", "calm", "--wait").says(0)
	w.app("lock", "calm", "--mode", "Detect").says(0)
	row := rowOf(w.app("status").stdout, "calm")
	check.That(t, len(row) >= 5 && row[4] == "-", "row of a release that is not to be enforced is %q", row)
}

// rowOf returns the cells of the row of a HelmRelease.
func rowOf(table, name string) []string {
	for line := range strings.Lines(table) {
		if cells := strings.Fields(line); len(cells) > 0 && cells[0] == name {
			return cells
		}
	}
	return nil
}

// A field is suspended for a time, and the rest of its release stays locked.
func TestSuspendOfAField(t *testing.T) {
	w := newFixture(t)
	w.installShop(kit.Shared.Helm4(), "shop")
	kit.StartOperator(t, w.OperatorConfig(), w.Operator)
	w.Lock("shop")
	const field = "deployment/shop:spec.replicas"
	w.app("suspend", "shop", field).says(1, "fields are suspended for a time: --for or --until is needed")
	w.app("suspend", field, "--for", "1h").says(1, "fields are those of one release: name it before them")
	w.app("suspend", "shop", "deployment/shop:spec.replcas", "--for", "1h").says(1,
		"the release declares no field spec.replcas in deployment/shop\n  did you mean /spec/replicas?")
	w.app("suspend", "shop", "deployment/nosuch:spec.replicas", "--for", "1h").says(1,
		"release APPS/shop declares no deployment/nosuch")
	w.app("resume", "shop", field).says(1, "HelmRelease LOCKER/shop does not suspend "+field)

	w.app("suspend", "shop", field, "--until", "2099-01-02T03:04:05Z", "--reason", "INC-42").is(0,
		"HelmRelease LOCKER/shop: "+field+" suspended until TIME\n", "")
	w.app("status", "shop").says(0, "/spec/replicas, in objects with group apps, kind Deployment, name shop, namespace APPS, "+
		"until TIME, reason: INC-42, by admin")
	w.WaitReady("shop", 1)
	w.Until("the field is left alone", func() (any, bool) {
		hr := w.HelmRelease("shop")
		return hr.Status.Exceptions, len(hr.Status.Exceptions) == 1
	})
	w.Patch(kit.Deployments, "shop", `{"spec":{"replicas":7}}`)

	w.app("resume", "shop", field).says(2, "revert spec.replicas 7 -> 2", "nothing was changed")
	w.app("resume", "shop", field, "--yes").says(0, "HelmRelease LOCKER/shop: "+field+" resumed")
	w.WaitField(kit.Deployments, "shop", "spec.replicas", int64(2))
}
