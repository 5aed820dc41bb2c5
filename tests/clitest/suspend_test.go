package clitest

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
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
	if author == "" {
		t.Fatal("the suspension has no author")
	}
	want := "suspended by spec.suspend (INC-7), by " + author + "; nothing is reverted"
	for _, condition := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionLocked} {
		if c := w.Condition("shop", condition); c.Message != want {
			t.Errorf("%s is %q, want %q", condition, c.Message, want)
		}
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
