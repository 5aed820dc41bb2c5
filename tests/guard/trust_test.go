package guard

import (
	"fmt"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// trusting is a fixture with an operator that enforces trusted records only, and a user with the role edit in Apps.
type trusting struct {
	*fixture
	mallory *kit.Env
}

var (
	clusterRoles        = rbacv1.SchemeGroupVersion.WithResource("clusterroles")
	clusterRoleBindings = rbacv1.SchemeGroupVersion.WithResource("clusterrolebindings")
)

func witnessed(o *operator.ControllerOptions) { o.TrustRecords = operator.TrustWitnessed }

func newTrusting(t *testing.T, options ...func(*operator.ControllerOptions)) *trusting {
	t.Helper()
	f := &trusting{fixture: newFixture(t, options...)}
	name := "mallory-of-" + f.Apps
	f.Bind(f.Apps, "mallory", "ClusterRole/edit", kit.User(name))
	f.mallory = f.user(name)
	f.Until("the user may write Secrets", func() (any, bool) { return f.may("create", "", "secrets", f.Apps) })
	return f
}

// newWitnessing is newTrusting with an operator that the API server asks about each record.
func newWitnessing(t *testing.T) *trusting {
	t.Helper()
	f := newTrusting(t, witnessed)
	f.inForce()
	return f
}

// may reports whether the user has a right.
func (f *trusting) may(verb, group, resource, namespace string) (any, bool) {
	f.Helper()
	answer, err := f.mallory.Kube.AuthorizationV1().SelfSubjectAccessReviews().Create(f.Ctx,
		&authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource,
				Namespace: namespace},
		}}, metav1.CreateOptions{})
	return err, err == nil && answer.Status.Allowed
}

// inForce waits until the API server asks the witness.
func (f *trusting) inForce() {
	f.Helper()
	f.track("probe")
	n := 0
	f.Until("the API server asks the witness", func() (any, bool) {
		n++
		f.Forge(kit.ForgedRecord{Name: "probe", Manifest: kit.ConfigMap("probe", fmt.Sprint(n))})
		_, err := f.Kube.CoreV1().Secrets(f.Operator).Get(f.Ctx,
			f.Operator+"-trust-"+string(f.HelmRelease("probe").UID), metav1.GetOptions{})
		return err, err == nil
	})
}

// track creates a HelmRelease without a record, and waits until the operator knows it: only records of such releases
// are judged.
func (f *trusting) track(name string) {
	f.Helper()
	f.CreateHelmRelease(name)
	f.WaitReason(name, v1alpha1.ConditionLocked, v1alpha1.ReasonSecretNotFound)
}

func (f *trusting) binding() string { return "pwned-" + f.Apps }

// clusterAdmin is a manifest that makes the user the administrator of the cluster.
func (f *trusting) clusterAdmin() string {
	return fmt.Sprintf(`---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: mallory-of-%s}]
`, f.binding(), f.Apps)
}

// clusterRole is a manifest of a ClusterRole.
func (f *trusting) clusterRole() string {
	return fmt.Sprintf(`---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader-of-%s}
rules: [{apiGroups: [""], resources: [nodes], verbs: [get]}]
`, f.Apps)
}

// gainsNothing fails the test if the user has become an administrator.
func (f *trusting) gainsNothing() {
	f.Helper()
	_, err := f.In(clusterRoleBindings, "").Get(f.Ctx, f.binding(), metav1.GetOptions{})
	check.That(f, apierrors.IsNotFound(err), "the ClusterRoleBinding exists: error is %v", err)
	if _, allowed := f.may("*", "*", "*", ""); allowed {
		f.Error("the user may do everything")
	}
}

func (f *trusting) deleteRecord(as *kit.Env, name string, revision int) {
	f.Helper()
	check.NoError(f, as.Kube.CoreV1().Secrets(f.Apps).Delete(f.Ctx, release.ObjectName(name, revision),
		metav1.DeleteOptions{}))
}

// doubted waits until a record is not enforced.
func (f *trusting) doubted(name string, revision int, parts ...string) {
	f.Helper()
	f.Says(name, v1alpha1.ConditionLocked, v1alpha1.ReasonRecordNotTrusted,
		append(parts, fmt.Sprintf("revision %d", revision))...)
}

// The baseline: with trust in any record, a forged one makes its writer the administrator of the cluster.
func TestHostile_AForgedRecordIsEnforcedByDefault(t *testing.T) {
	t.Parallel()
	f := newTrusting(t)
	f.Forged("app", kit.ConfigMap("settings", "declared"))
	f.mallory.Forge(kit.ForgedRecord{Name: "app", Revision: 2,
		Manifest: kit.ConfigMap("settings", "declared") + f.clusterAdmin()})
	f.Until("the user may do everything", func() (any, bool) { return f.may("*", "*", "*", "") })
	f.DeleteIn(clusterRoleBindings, "", f.binding())
}

// With witnesses, a record is worth what its writer could have done without the operator.
func TestI14_AForgedRecordGivesItsWriterNoRight(t *testing.T) {
	t.Parallel()
	f := newWitnessing(t)
	f.track("app")
	f.Forge(kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("settings", "declared") + f.clusterRole()})
	f.WaitReady("app", 1)

	// A new object beyond the user's rights, in a new revision and in a changed record.
	forged := kit.ConfigMap("settings", "declared") + f.clusterRole() + f.clusterAdmin()
	f.mallory.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Manifest: forged})
	f.doubted("app", 2, "mallory-of-"+f.Apps, "clusterrolebindings.rbac.authorization.k8s.io", f.binding())
	f.gainsNothing()
	f.mallory.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Manifest: forged, Labels: map[string]string{"x": "y"}})
	f.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Manifest: forged, Labels: map[string]string{"backup": "y"}})
	f.doubted("app", 2, "mallory-of-"+f.Apps)
	f.gainsNothing()

	// A revision with another ClusterRole, and a revision without it, after a revision that was not refused.
	f.Forge(kit.ForgedRecord{Name: "app", Revision: 3, Manifest: f.first()})
	f.WaitReady("app", 3)
	f.mallory.Forge(kit.ForgedRecord{Name: "app", Revision: 4, Manifest: kit.ConfigMap("settings", "declared") +
		strings.Replace(f.clusterRole(), "nodes", "secrets", 1)})
	f.doubted("app", 4, "patch clusterroles.rbac.authorization.k8s.io")
	f.Forge(kit.ForgedRecord{Name: "app", Revision: 5, Manifest: f.first()})
	f.WaitReady("app", 5)
	f.mallory.Forge(kit.ForgedRecord{Name: "app", Revision: 6, Manifest: kit.ConfigMap("settings", "declared")})
	f.doubted("app", 6, "delete clusterroles.rbac.authorization.k8s.io")

	// An unchanged ClusterRole takes no right.
	f.Forge(kit.ForgedRecord{Name: "app", Revision: 7, Manifest: f.first()})
	f.WaitReady("app", 7)
	f.mallory.Forge(kit.ForgedRecord{Name: "app", Revision: 8,
		Manifest: kit.ConfigMap("settings", "changed") + f.clusterRole()})
	f.WaitReady("app", 8)
	f.WaitField(kit.ConfigMaps, "settings", "data.key", "changed")
	role, err := f.Kube.RbacV1().ClusterRoles().Get(f.Ctx, "reader-of-"+f.Apps, metav1.GetOptions{})
	check.NoError(t, err)
	check.Equal(t, role.Rules[0].Resources[0], "nodes", "the ClusterRole grants")
	f.gainsNothing()
}

// An earlier manifest is a difference like any other, whatever way it becomes the newest.
func TestI14_AnEarlierManifestIsNotReplayed(t *testing.T) {
	t.Parallel()
	f := newWitnessing(t)
	f.track("app")
	first := kit.ConfigMap("settings", "declared") + f.clusterAdmin()
	second := kit.ConfigMap("settings", "declared")
	f.Forge(kit.ForgedRecord{Name: "app", Manifest: first})
	f.WaitReady("app", 1)
	binding, err := f.In(clusterRoleBindings, "").Get(f.Ctx, f.binding(), metav1.GetOptions{})
	check.NoError(t, err)
	f.NextSecond(binding)
	f.Forge(kit.ForgedRecord{Name: "app", Status: "superseded", Manifest: first})
	f.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Manifest: second})
	f.WaitGone(clusterRoleBindings, "", f.binding())
	f.WaitReady("app", 2)

	f.mallory.Forge(kit.ForgedRecord{Name: "app", Revision: 3, Manifest: first})
	f.doubted("app", 3)
	f.gainsNothing()
	f.deleteRecord(f.mallory, "app", 3)
	f.WaitReady("app", 2)
	f.mallory.Forge(kit.ForgedRecord{Name: "app", Manifest: first}) // deployed again, below the newest
	f.deleteRecord(f.mallory, "app", 2)
	f.doubted("app", 1)
	f.gainsNothing()
	f.mallory.Forge(kit.ForgedRecord{Name: "app", Status: "superseded", Manifest: first})
	f.mallory.Forge(kit.ForgedRecord{Name: "app", Manifest: first})
	f.doubted("app", 1)
	f.gainsNothing()

	// A user with the rights deploys it.
	f.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Manifest: first})
	f.WaitReady("app", 2)
	f.DeleteIn(clusterRoleBindings, "", f.binding())
	f.WaitFieldIn(clusterRoleBindings, "", f.binding(), "roleRef.name", "cluster-admin")
	f.DeleteHelmRelease("app")
	f.DeleteIn(clusterRoleBindings, "", f.binding())
}

// A record from before the lock is enforced if the objects are as it declares; and so is one that was not witnessed.
func TestI14_AnUnwitnessedRecordIsTrustedIfNothingIsToBeWritten(t *testing.T) {
	t.Parallel()
	f := newWitnessing(t)
	for version, h := range kit.Helms(f.Cluster) {
		name := "app-" + version[len(version)-1:]
		f.Installed(h, name, kit.ConfigMap(name, "declared"))
		f.Patch(kit.ConfigMaps, name, `{"data":{"key":"tampered"}}`)
		f.WaitField(kit.ConfigMaps, name, "data.key", "declared")
		f.Helm(h, "upgrade", name, f.Chart(name, kit.ConfigMap(name, "upgraded")))
		f.WaitReady(name, 2)
		f.front.to("") // down
		f.Helm(h, "upgrade", name, f.Chart(name, kit.ConfigMap(name, "unseen")))
		f.WaitReady(name, 3)
		f.Patch(kit.ConfigMaps, name, `{"data":{"key":"tampered"}}`)
		f.WaitField(kit.ConfigMaps, name, "data.key", "unseen")
		f.front.to(f.guardAddress(f.Running))
	}

	f.mallory.Forge(kit.ForgedRecord{Name: "planted", Manifest: f.clusterAdmin()})
	f.CreateHelmRelease("planted")
	f.doubted("planted", 1, "nothing shows that the writer of revision 1")
	f.front.to("")
	f.mallory.Forge(kit.ForgedRecord{Name: "planted", Revision: 2, Manifest: f.clusterAdmin() +
		kit.ConfigMap("planted", "new")})
	f.doubted("planted", 2, "nothing shows that the writer of revision 2")
	f.gainsNothing()
}
