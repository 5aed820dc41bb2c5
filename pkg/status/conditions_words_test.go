package status

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// The conditions are correct about the objects of another release, too.
func TestConditionsCountWhatIsLeftAlone(t *testing.T) {
	conflict := withProblem(v1alpha1.ReasonConflict, "belongs to Helm release b/b", false)
	for name, c := range map[string]struct {
		view              *View
		condition, reason string
		says              string
	}{
		"not all are protected": {lockedView(conflict), v1alpha1.ConditionLocked, v1alpha1.ReasonConflict,
			"3 of 4 objects protected; except ConfigMap apps/a"},
		"all are protected": {lockedView(nil), v1alpha1.ConditionLocked, v1alpha1.ReasonLocked,
			"revision 7: 4 objects protected"},
		"none is, and none is compared": {lockedView(func(v *View) {
			v.Sum.Tracked, v.Denials = 0, Denials{"deployer", []Denial{{ID: configMap("a")}}}
		}), v1alpha1.ConditionLocked, v1alpha1.ReasonForbidden, "0 of 1 object protected; ConfigMap apps/a is not protected"},
		"not all are compared": {lockedView(conflict), v1alpha1.ConditionDrifted, v1alpha1.ReasonNotCompared,
			"1 of 4 objects not compared; the others are as declared"},
		"drift beside it": {lockedView(func(v *View) {
			conflict(v)
			withProblem(v1alpha1.ReasonDriftDetected, "data changed", true)(v)
		}), v1alpha1.ConditionDrifted, v1alpha1.ReasonDriftDetected, "data changed"},
	} {
		t.Run(name, func(t *testing.T) {
			got := meta.FindStatusCondition(conditions(&v1alpha1.HelmRelease{}, c.view), c.condition)
			check.That(t, got != nil && got.Reason == c.reason && strings.Contains(got.Message, c.says),
				"got %+v, want %s with %q", got, c.reason, c.says)
		})
	}
}

func TestAVersionThatIsNotServedAnyMoreIsNoMissingDefinition(t *testing.T) {
	beta := schema.GroupVersionKind{Group: "policy", Version: "v1beta1", Kind: "PodDisruptionBudget"}
	for want, served := range map[string][]string{
		"its CustomResourceDefinition is missing": nil,
		"it serves policy/v1: upgrade":            {"policy/v1"},
	} {
		v := lockedView(func(v *View) {
			v.Waiting = map[schema.GroupVersionKind][]manifest.ID{beta: {configMap("a")}}
			v.Served = map[schema.GroupKind][]string{beta.GroupKind(): served}
		})
		_, reason, message := readiness(v)
		check.That(t, reason == v1alpha1.ReasonWaitingForKind && strings.Contains(message, want), "got %s: %s, want %q",
			reason, message, want)
	}
}
