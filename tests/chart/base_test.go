package chart

import (
	"fmt"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// followPolicy locks a release by a policy, which selects by labels of namespaces, and removes it again.
func followPolicy(e *kit.Env, release string) {
	e.Helper()
	policies := e.In(kit.HelmReleasePolicies, e.Operator)
	locks := e.In(kit.HelmReleases, e.Operator)
	check.NoError(e, locks.Delete(e.Ctx, release, metav1.DeleteOptions{}))
	made := e.CreatePolicy("labels", release, fmt.Sprintf(`acceptRecordsOfAnyone: true
match:
  releases: [%s]
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %s}}`, release, e.Apps))
	e.WaitReady(made, 0)
	e.Until("the policy has a status", func() (any, bool) {
		stored, err := policies.Get(e.Ctx, "labels", metav1.GetOptions{})
		return stored, err == nil && stored.Object["status"] != nil
	})
	_, err := policies.Patch(e.Ctx, "labels", types.MergePatchType,
		[]byte(`{"spec":{"template":{"metadata":{"labels":{"team":"web"}}}}}`), metav1.PatchOptions{})
	check.NoError(e, err)
	e.Until("the policy has changed the HelmRelease", func() (any, bool) {
		hr, err := locks.Get(e.Ctx, made, metav1.GetOptions{})
		return err, err == nil && hr.GetLabels()["team"] == "web"
	})
	_, err = policies.Patch(e.Ctx, "labels", types.MergePatchType, []byte(`{"spec":{"match":{"releases":["none"]}}}`),
		metav1.PatchOptions{})
	check.NoError(e, err)
	e.Until("the policy has left the release", func() (any, bool) {
		_, err := locks.Get(e.Ctx, made, metav1.GetOptions{})
		return err, apierrors.IsNotFound(err)
	})
}

// expectBaseUsed expects every verb of the chart's grants for every operator to have been used. The exceptions are
// the CustomResourceDefinition, which existed before, and rare requests: API servers before 1.32 cannot stream lists.
func expectBaseUsed(t *testing.T, e *kit.Env, all []request) {
	t.Helper()
	here, everywhere := rulesOfAccount(e, "helm-locker")
	expectRulesUsed(t, slices.Concat(here, everywhere[:6]), all)
}
