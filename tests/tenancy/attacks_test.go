package tenancy

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// clusterAdmin is a manifest that makes a ServiceAccount the administrator of the cluster.
func clusterAdmin(name, namespace string) string {
	return fmt.Sprintf(`---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: deployer, namespace: %s}]
`, name, namespace)
}

// A user with the right to write Secrets in one namespace forges the record of a release that makes them the
// administrator of the cluster. The API server refuses it to their account, the condition reports that, and nothing
// else stops.
func TestAttack_ForgedRecordMakesNobodyAnAdministrator(t *testing.T) {
	t.Parallel()
	w := newFixture(t, byDefault)
	account, person := w.tenant(w.Apps)
	other := w.Namespace(w.Apps + "-other")
	_, victim := w.tenant(other)
	victim.Forge(kit.ForgedRecord{Name: "fence", Manifest: kit.FenceManifest()})
	w.lockIn(other, "fence", "fence")
	w.WaitReady("fence", 1)
	system := w.configMap("kube-system", "of-the-system-"+w.Apps)
	secret := fmt.Sprintf(
		"---\napiVersion: v1\nkind: Secret\nmetadata: {name: guess, namespace: %s}\nstringData: {password: letmein}\n",
		other,
	)

	person.Forge(kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("settings", "declared") +
		clusterAdmin("pwned-"+w.Apps, w.Apps) + kit.ConfigMapIn("kube-system", system.GetName(), "pwned") + secret})
	w.CreateHelmRelease("app")
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonForbidden,
		"ClusterRoleBinding pwned-"+w.Apps+" is not protected", user(account),
		`cannot patch resource "clusterrolebindings"`, "at the cluster scope",
		`"configmaps" in API group "" in the namespace "kube-system"`, `"secrets" in API group "" in the namespace "`+
			other+`"`)
	w.event("app", v1alpha1.EventReasonForbidden, user(account), `"clusterrolebindings"`)

	// Objects that the account may write are protected, and so are other releases.
	w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
	w.Reverts("settings", "declared")
	w.Fenced.Pass(w.At(other))

	_, err := w.Kube.RbacV1().ClusterRoleBindings().Get(t.Context(), "pwned-"+w.Apps, metav1.GetOptions{})
	check.That(t, apierrors.IsNotFound(err), "the ClusterRoleBinding exists: error is %v", err)
	w.unchanged(system)
	n := w.HelmRelease("app").Status.Objects
	check.That(t, n.Tracked == 4 && n.Waiting == 3, "objects are %+v", n)
	// An administrator may let them have it: then it is protected by itself.
	w.grant("kube-system", account, rule("", "configmaps", "patch"))
	w.WaitFieldIn(kit.ConfigMaps, "kube-system", system.GetName(), "data.key", "pwned")
}

// The account may write RoleBindings in its namespace, so the forged one is tried, and refused as an escalation.
func TestAttack_ForgedRoleBindingIsAnEscalation(t *testing.T) {
	t.Parallel()
	w := newFixture(t, byDefault)
	account, person := w.tenant(w.Apps)
	person.Forge(kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("settings", "declared") + fmt.Sprintf(`---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: pwned}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: deployer, namespace: %s}]
`, w.Apps)})
	w.CreateHelmRelease("app")
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonForbidden, "RoleBinding "+w.Apps+
		"/pwned", user(account), "attempting to grant RBAC permissions not currently held")
	w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
	_, err := w.Kube.RbacV1().RoleBindings(w.Apps).Get(t.Context(), "pwned", metav1.GetOptions{})
	check.That(t, apierrors.IsNotFound(err), "the RoleBinding exists: error is %v", err)
}

// The first HelmRelease that declares an object locks it. A forged record has no claim to objects that its account
// may not change: another release's objects stay protected and unchanged.
func TestAttack_ForgedRecordTakesNoObjectOfAnother(t *testing.T) {
	t.Parallel()
	w := newFixture(t, byDefault)
	_, victim := w.tenant(w.Apps)
	lair := w.Namespace(w.Apps + "-lair")
	account, person := w.tenant(lair)
	w.lockIn(lair, "attacker", "attacker") // the older of the two
	victim.Forge(kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("settings", "declared")})
	w.Lock("app")
	w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")

	person.Forge(kit.ForgedRecord{Name: "attacker", Manifest: kit.ConfigMapIn(w.Apps, "settings", "pwned")})
	w.Says("attacker", v1alpha1.ConditionReady, v1alpha1.ReasonForbidden, "ConfigMap "+w.Apps+
		"/settings is not protected", user(account))
	w.Reverts("settings", "declared")
	w.WaitReady("app", 1)
}

// Forged revisions make the operator find prune candidates: in the name of the account it deletes only objects with the
// release's annotations that the account may delete.
func TestAttack_ForgedHistoryDeletesNothingOfOthers(t *testing.T) {
	t.Parallel()
	w := newFixture(t, byDefault)
	account, person := w.tenant(w.Apps)
	other := w.Namespace(w.Apps + "-other")
	system := w.configMap("kube-system", "of-the-system-"+w.Apps)
	// Two with the release's annotations, one of them where its account may not delete.
	own := w.ownedConfigMap(w.Apps, "dropped")
	foreign := w.ownedConfigMap(other, "dropped-too")
	person.Forge(kit.ForgedRecord{Name: "app", Revision: 1, Status: "superseded",
		Manifest: kit.ConfigMap("settings", "declared") +
			kit.ConfigMapIn("kube-system", system.GetName(), "x") + kit.ConfigMapIn(other, foreign.GetName(), "x") +
			kit.ConfigMapIn(w.Apps, own.GetName(), "x")})
	w.NextSecond(foreign)
	person.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Manifest: kit.ConfigMap("settings", "declared")})
	w.Lock("app")
	w.event("app", v1alpha1.EventReasonRevertFailed, "ConfigMap "+other+
		"/dropped-too", user(account), `cannot delete resource "configmaps"`, other)
	w.WaitGone(kit.ConfigMaps, w.Apps, own.GetName()) // the account may delete it
	w.unchanged(system)
	w.unchanged(foreign)
	w.writtenBy(user(account))
}

// An account with the right to create and not to delete creates an object, and cannot delete it when Helm turns out to
// be at work. That is reported once, and delays no other release.
func TestAttack_WhatCannotBeTakenBackHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	w := newFixture(t, byDefault)
	account := w.Account(w.Apps, deployer)
	w.grant(w.Apps, account, rule("", "configmaps", "get", "patch", "create"))
	hold := w.Proxy.HoldAnswers(isWrite("configmaps", http.MethodPost))
	w.Forge(kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("settings", "declared")})
	w.CreateHelmRelease("app")
	check.NoError(t, hold.Wait(t.Context(), 1))
	w.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Status: "pending-upgrade"})
	w.Proxy.Reset()
	hold.Release()
	w.event("app", v1alpha1.EventReasonOvertaken, "cannot be deleted again", user(account),
		`cannot delete resource "configmaps"`)
	for i := range 3 { // a change of an older record has the write confirmed again, under the same newest one
		before := w.proofs()
		w.Patch(kit.Secrets, "sh.helm.release.v1.app.v1", fmt.Sprintf(`{"metadata":{"annotations":{"n":"%d"}}}`, i))
		w.Until("the operator reads the record again", func() (any, bool) { return before, w.proofs() > before })
	}
	w.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Manifest: kit.ConfigMap("settings", "second")})
	w.WaitReady("app", 2)
	w.WaitField(kit.ConfigMaps, "settings", "data.key", "second")
	deletions := 0
	for _, r := range w.Proxy.Requests() {
		if r.Method == http.MethodDelete && r.Resource() == "configmaps" {
			deletions++
		}
	}
	check.That(t, deletions == 1, "the deletion was tried %d times", deletions)
}

// proofs returns the number of the operator's reads of all records of a namespace.
func (w *fixture) proofs() (n int) {
	for _, r := range w.Proxy.Requests() {
		if r.Method == http.MethodGet && strings.HasSuffix(r.Path, "/namespaces/"+w.Apps+"/secrets") {
			n++
		}
	}
	return n
}

// For a manifest of many objects outside of the rights of its account, the number of access reviews is bounded. The
// other objects are protected.
func TestAttack_ManyForeignObjectsAreAFewQuestions(t *testing.T) {
	t.Parallel()
	w := newFixture(t, byDefault)
	_, person := w.tenant(w.Apps)
	manifest := kit.ConfigMap("settings", "declared")
	for i := range 3000 {
		manifest += kit.ConfigMapIn("kube-system", fmt.Sprintf("system-%d", i), "pwned")
	}
	person.Forge(kit.ForgedRecord{Name: "app", Manifest: manifest})
	w.CreateHelmRelease("app")
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonForbidden, "kube-system", "and 2997 more")
	w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
	questions := 0
	for _, r := range w.Proxy.Requests() {
		if r.Resource() == "selfsubjectaccessreviews" {
			questions++
		}
	}
	check.That(t, questions != 0 && questions <= 400, "%d questions", questions)
}

// configMap creates a ConfigMap of no Helm release.
func (w *fixture) configMap(namespace, name string) *unstructured.Unstructured {
	w.Helper()
	return w.make(namespace, map[string]any{"name": name})
}

// ownedConfigMap creates a ConfigMap with the annotations of release app of Apps.
func (w *fixture) ownedConfigMap(namespace, name string) *unstructured.Unstructured {
	w.Helper()
	return w.make(namespace, map[string]any{"name": name,
		"labels":      map[string]any{"app.kubernetes.io/managed-by": "Helm"},
		"annotations": map[string]any{"meta.helm.sh/release-name": "app", "meta.helm.sh/release-namespace": w.Apps}})
}

func (w *fixture) make(namespace string, metadata map[string]any) *unstructured.Unstructured {
	w.Helper()
	u, err := w.In(kit.ConfigMaps, namespace).Create(w.Ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": map[string]any{"key": "original"},
	}}, metav1.CreateOptions{})
	check.NoError(w, err)
	return u
}

// unchanged fails the test when an object has changed.
func (w *fixture) unchanged(before *unstructured.Unstructured) {
	w.Helper()
	now, err := w.In(kit.ConfigMaps, before.GetNamespace()).Get(w.Ctx, before.GetName(), metav1.GetOptions{})
	if err != nil {
		w.Errorf("%s/%s: %v", before.GetNamespace(), before.GetName(), err)
		return
	}
	if !reflect.DeepEqual(now.Object, before.Object) {
		w.Errorf("it was %v and is %v", before.Object, now.Object)
	}
}
