package tenancy

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// managers are the managers of an object's fields with their operations.
func managers(u *unstructured.Unstructured) string {
	var all []string
	for _, entry := range u.GetManagedFields() {
		all = append(all, fmt.Sprintf("%s %s %s", entry.Manager, entry.Operation, entry.FieldsV1.GetRawString()))
	}
	return strings.Join(all, "\n")
}

const chart = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {key: "{{ .Values.value }}"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: example.com/web:1}]}
`

// Every write uses the name of the account, dry runs and re-creations included, and leaves an object as Helm left it:
// content, owners of fields, and the next upgrade.
func TestImpersonation_WritesAreTheAccounts(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t, byDefault)
		account, _ := w.tenant(w.Apps)
		path := w.Chart("app", chart)
		w.Helm(helm, "install", "app", path, "--set", "value=one")
		asHelmLeftIt := managers(w.Get(kit.ConfigMaps, "settings"))
		w.Patch(kit.ConfigMaps, "settings", `{"data":{"key":"before the lock"}}`)
		w.Lock("app")
		w.WaitField(kit.ConfigMaps, "settings", "data.key", "one")
		w.Patch(kit.Deployments, "web",
			`{"spec":{"replicas":7,"template":{"spec":{"containers":[{"name":"web","image":"example.com/evil:1"}]}}}}`)
		w.WaitField(kit.Deployments, "web", "spec.template.spec.containers.0.image", "example.com/web:1")
		after := managers(w.Get(kit.ConfigMaps, "settings"))
		check.That(t, after == asHelmLeftIt, "fields were owned by\n%s\nand are owned by\n%s", asHelmLeftIt, after)
		old := w.Get(kit.ConfigMaps, "settings").GetUID()
		w.Delete(kit.ConfigMaps, "settings")
		w.WaitNewObject(kit.ConfigMaps, "settings", old)
		w.WaitReady("app", 1)
		w.writtenBy(user(account))
		w.Helm(helm, "upgrade", "app", path, "--set", "value=two")
		w.WaitReady("app", 2)
		w.WaitField(kit.ConfigMaps, "settings", "data.key", "two")
	})
}

// Without a name nothing is locked, whatever rights the operator has, and the condition names the remedy.
func TestImpersonation_NoAccountNoLock(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	account, _ := w.tenant(w.Apps)
	w.Account(w.Operator, "unrelated")
	w.Forge(kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("settings", "declared")})
	w.CreateHelmRelease("app")
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonNoServiceAccount, "--impersonate", "spec.serviceAccountName",
		w.Apps)
	w.WaitReason("app", v1alpha1.ConditionLocked, v1alpha1.ReasonNoServiceAccount)
	w.WaitReason("app", v1alpha1.ConditionStalled, v1alpha1.ReasonNoServiceAccount)
	w.event("app", v1alpha1.EventReasonNoServiceAccount, "spec.serviceAccountName")
	check.That(t, w.Get(kit.ConfigMaps, "settings") == nil, "something was created")
	w.PatchHelmRelease("app", `{"spec":{"serviceAccountName":"deployer"}}`)
	w.WaitReady("app", 1)
	w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
	w.writtenBy(user(account))
	// Removing the name ends the protection: no other account is used.
	w.PatchHelmRelease("app", `{"spec":{"serviceAccountName":null}}`)
	w.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonNoServiceAccount)
}

// An account is named for one release, and the operator writes the others itself.
func TestImpersonation_OneReleaseOfAnOrdinaryOperator(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(o *operator.ControllerOptions) { o.Impersonate = false })
	w.administer(w.subject)
	account, _ := w.tenant(w.Apps)
	w.Forge(kit.ForgedRecord{Name: "named", Manifest: kit.ConfigMap("of-named", "declared") + "---\n" +
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: made-by-" + w.Apps + "}\nrules: []\n"})
	w.Helm(kit.Shared.Helm4(), "install", "unnamed", w.Chart("unnamed", kit.ConfigMap("of-unnamed", "declared")))
	w.CreateHelmRelease("named", func(hr *v1alpha1.HelmRelease) { hr.Spec.ServiceAccountName = deployer })
	w.Says("named", v1alpha1.ConditionReady, v1alpha1.ReasonForbidden, user(account), `"clusterroles"`)
	w.Lock("unnamed")
	installed := w.Get(kit.ConfigMaps, "of-unnamed").GetUID()
	w.Delete(kit.ConfigMaps, "of-unnamed")
	w.WaitNewObject(kit.ConfigMaps, "of-unnamed", installed)
	w.WaitField(kit.ConfigMaps, "of-named", "data.key", "declared")
	for _, r := range kit.ObjectWrites(w.Proxy) {
		want := user(account)
		if strings.Contains(r.Path+string(r.Body), "of-unnamed") {
			want = ""
		}
		check.That(t, r.Impersonated == want, "as %q, not %q: %s", r.Impersonated, want, r)
	}
	_, err := w.Kube.RbacV1().ClusterRoles().Get(t.Context(), "made-by-"+w.Apps, metav1.GetOptions{})
	check.That(t, err != nil, "the ClusterRole was created")
}

// A revoked permission causes a condition with account, verb and resource, and nothing else stops; once it is granted
// again the object is restored automatically.
func TestImpersonation_PermissionTakenAndGivenAgain(t *testing.T) {
	t.Parallel()
	w := newFixture(t, byDefault)
	account := w.Account(w.Apps, deployer)
	granted := w.grant(w.Apps, account, rule("", "configmaps", "*"))
	other := w.Namespace(w.Apps + "-other")
	w.tenant(other)
	w.Forged("app", kit.ConfigMap("settings", "declared"))
	w.At(other).Forge(kit.ForgedRecord{Name: "fence", Manifest: kit.FenceManifest()})
	w.lockIn(other, "fence", "fence")
	w.WaitReady("fence", 1)

	w.Kubectl("delete", "rolebinding", granted)
	w.Patch(kit.ConfigMaps, "settings", `{"data":{"key":"tampered"}}`)
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonForbidden, user(account), "cannot patch", `"configmaps"`, w.Apps)
	w.WaitReason("app", v1alpha1.ConditionDrifted, v1alpha1.ReasonRevertFailed)
	w.event("app", v1alpha1.EventReasonRevertFailed, user(account), "cannot patch", `"configmaps"`)
	w.Fenced.Pass(w.At(other))
	got := kit.Field(w.Get(kit.ConfigMaps, "settings"), "data.key")
	check.That(t, got == "tampered", "key is %v", got)
	w.grant(w.Apps, account, rule("", "configmaps", "*"))
	w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
	w.WaitReady("app", 1)
}

// An operator without the right to impersonate reports that by its own name.
func TestImpersonation_NotAllowedToTheOperator(t *testing.T) {
	t.Parallel()
	w := &fixture{Fixture: &kit.Fixture{Env: kit.New(t, kit.Shared)}}
	w.Proxy = w.NewProxy()
	subject := w.Account(w.Operator, "reader")
	w.Allow("", w.Operator, subject, rule("*", "*", "get", "list", "watch"), rule("", "events", "create", "patch"))
	w.grant(w.Operator, subject, rule(v1alpha1.SchemeGroupVersion.Group, "*", "*"))
	config, err := kit.Shared.ServiceAccountConfig(t.Context(), w.Operator, "reader")
	check.NoError(t, err)
	kit.StartOperator(t, w.Proxy.Via(config), w.Operator, byDefault,
		func(o *operator.ControllerOptions) { o.Impersonate, o.SkipCRD = true, true })
	w.Forge(kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("settings", "declared")})
	w.CreateHelmRelease("app")
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonForbidden, user(subject),
		"cannot act as system:serviceaccount:"+w.Apps+":deployer", "impersonate ServiceAccounts in namespace "+w.Apps)
	writes := kit.ObjectWrites(w.Proxy)
	check.That(t, len(writes) == 0, "written: %v", writes)
	w.grant(w.Apps, subject, rule("", "serviceaccounts", "impersonate"))
	account := w.Account(w.Apps, deployer)
	w.grant(w.Apps, account, rule("", "configmaps", "*"))
	w.WaitReady("app", 1)
	w.writtenBy(user(account))
}
