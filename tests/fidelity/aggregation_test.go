package fidelity

import (
	"fmt"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

const roleWithRules = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "{{ .Release.Namespace }}"}
rules: [{apiGroups: [""], resources: [pods, "{{ .Values.rev }}"], verbs: [get]}]
`

// An aggregationRule beside declared rules makes a controller of Kubernetes replace these after every revert, so it
// goes with the first one.
func TestI5_AnAggregationDoesNotReplaceDeclaredRules(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		chart := w.Chart("app", roleWithRules)
		w.Helm(helm, "install", "app", chart, "--set", "rev=one")
		w.Lock("app")
		roles := w.In(resource("clusterroles"), "")
		before, err := roles.Get(w.Ctx, w.Apps, metav1.GetOptions{})
		check.NoError(t, err)
		_, err = roles.Patch(w.Ctx, w.Apps, types.MergePatchType, []byte(`{"aggregationRule":{
			"clusterRoleSelectors":[{"matchLabels":{"rbac.authorization.k8s.io/aggregate-to-view":"true"}}]}}`),
			metav1.PatchOptions{FieldManager: kit.Tamperer})
		check.NoError(t, err)
		w.Eventually("the rules are as declared, without an aggregation", func() error {
			now, err := roles.Get(w.Ctx, w.Apps, metav1.GetOptions{})
			if err == nil && !reflect.DeepEqual(contentOf(now), contentOf(before)) {
				err = fmt.Errorf("it is %v", now.Object)
			}
			return err
		})
		w.WaitReason("app", v1alpha1.ConditionDrifted, v1alpha1.ReasonDriftReverted)
		w.WaitReady("app", 1)
		w.Helm(helm, "upgrade", "app", chart, "--set", "rev=two")
		w.WaitReady("app", 2)
	})
}
