package guard

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/classic"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// accept accepts a record as it was stored, and waits until the operator has read that.
func (f *trusting) accept(name string, record *unstructured.Unstructured) {
	f.Helper()
	patch := fmt.Sprintf(`{"spec":{"acceptedRecord":"%s/%s"}}`, record.GetUID(), record.GetResourceVersion())
	f.PatchHelmRelease(name, patch)
	f.WaitObserved(name)
}

// trust waits until the status has a trust.
func (f *trusting) trust(name string, state v1alpha1.TrustState, reason v1alpha1.TrustReason, writer string) {
	f.Helper()
	f.Until(fmt.Sprintf("the trust in the record of %s is %s, %s", name, state, reason), func() (any, bool) {
		got := f.HelmRelease(name).Status.Trust
		return got, got != nil && got.State == state && got.Reason == reason && got.Writer == writer
	})
}

func (f *trusting) hasRole() (any, bool) {
	_, err := f.Kube.RbacV1().ClusterRoles().Get(f.Ctx, "reader-of-"+f.Apps, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		f.Error(err)
	}
	return err, err == nil
}

// An acceptance is for one record as it was read: not for a change of it, and for no later record.
func TestI14_AnAcceptanceIsForOneRecord(t *testing.T) {
	t.Parallel()
	f := newWitnessing(t)
	f.track("app")
	me := "mallory-of-" + f.Apps
	forged := kit.ForgedRecord{Name: "app", Manifest: f.clusterRole()}
	first := f.mallory.Forge(forged)
	f.doubted("app", 1, me, "helm-locker accept app -n "+f.Apps,
		fmt.Sprintf(`{"spec":{"acceptedRecord":"%s/%s"}}`, first.GetUID(), first.GetResourceVersion()))
	f.trust("app", v1alpha1.TrustStateNotTrusted, v1alpha1.TrustRefused, me)
	for _, namespace := range []string{f.Operator, f.Apps} {
		f.Until("there is a Warning in "+namespace, func() (any, bool) {
			events, err := f.Kube.CoreV1().Events(namespace).List(f.Ctx, metav1.ListOptions{
				FieldSelector: "reason=" + v1alpha1.EventReasonRecordNotTrusted})
			return events, err == nil && len(events.Items) > 0 && events.Items[0].Type == corev1.EventTypeWarning
		})
	}

	changed := forged
	changed.Manifest += f.clusterAdmin()
	second := f.mallory.Forge(changed)
	f.accept("app", first)
	f.doubted("app", 1, me, second.GetResourceVersion())
	f.gainsNothing()
	_, exists := f.hasRole()
	check.That(t, !exists, "a record that has changed since is enforced")

	third := f.mallory.Forge(forged)
	f.accept("app", third)
	f.WaitReady("app", 1)
	f.trust("app", v1alpha1.TrustStateTrusted, v1alpha1.TrustAccepted, "")
	f.Until("the role is created", f.hasRole)

	// A relabelled record is the same content.
	forged.Labels = map[string]string{"backup": "y"}
	f.Forge(forged)
	f.dropRole()
	f.Until("the role is restored", f.hasRole)

	f.mallory.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Manifest: f.clusterRole() + f.clusterAdmin()})
	f.doubted("app", 2, me)
	f.gainsNothing()
	f.mallory.Forge(changed)
	f.deleteRecord(f.mallory, "app", 2)
	f.doubted("app", 1, me)
	f.gainsNothing()
}

// The status has the trust in a record, whatever the setting.
func TestTrust_IsInTheStatus(t *testing.T) {
	t.Parallel()
	f := newWitnessing(t)
	f.track("app")
	f.Forge(kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("settings", "declared")})
	f.WaitReady("app", 1)
	got := f.HelmRelease("app").Status.Trust
	check.That(t,
		got != nil && got.State == v1alpha1.TrustStateTrusted && got.Reason == v1alpha1.TrustWitnessed &&
			got.Writer != "" && got.Revision == 1 && !got.Time.IsZero(), "the trust is %+v", got)
	f.front.to("")
	f.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Manifest: kit.ConfigMap("settings", "changed")})
	f.doubted("app", 2, "nothing shows")
	f.trust("app", v1alpha1.TrustStateNotTrusted, v1alpha1.TrustUnwitnessed, "")
	f.Patch(kit.ConfigMaps, "settings", `{"data":{"key":"changed"}}`)
	f.trust("app", v1alpha1.TrustStateTrusted, v1alpha1.TrustAsDeclared, "")

	other := newTrusting(t)
	other.Forged("app", kit.ConfigMap("settings", "declared"))
	other.trust("app", v1alpha1.TrustStateAny, "", "")
	locked := meta.FindStatusCondition(other.HelmRelease("app").Status.Conditions, v1alpha1.ConditionLocked)
	check.That(t, locked != nil && !strings.Contains(locked.Message, "trust"), "the condition is %+v", locked)
}

// While Helm works on an earlier revision, objects that are as declared prove nothing. The end of that work ends the
// doubt.
func TestI14_ADoubtEndsWithItsCause(t *testing.T) {
	t.Parallel()
	f := newTrusting(t, witnessed)
	f.front.to("")
	f.Helm(f.Cluster.Helm4(), "install", "app", f.Chart("app", kit.ConfigMap("app", "declared")))
	label := func(status string) {
		f.Patch(kit.Secrets, "sh.helm.release.v1.app.v1", fmt.Sprintf(`{"metadata":{"labels":{"status":%q}}}`, status))
	}
	label("pending-upgrade")
	f.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Manifest: kit.ConfigMap("app", "declared")})
	f.CreateHelmRelease("app")
	f.doubted("app", 2, "nothing shows that the writer of revision 2")
	label("superseded")
	f.WaitReady("app", 2)
}

// A user with the rights ends an interrupted upgrade by the deletion of its record. The deletion by a user without
// them ends the trust in the earlier revision, whatever the record had. The earlier revision would undo a part
// of the upgrade.
func TestI14_ADeletedUpgradeReturnsToTheTrustedRevision(t *testing.T) {
	t.Parallel()
	f := newWitnessing(t)
	declared := kit.ConfigMap("app", "declared") + f.clusterRole()
	pending := func(by *kit.Env, manifest string) {
		by.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Status: "pending-upgrade", Manifest: manifest})
	}
	interrupted := func() {
		pending(f.Env, kit.ConfigMap("app", "upgraded"))
		f.Patch(kit.ConfigMaps, "app", `{"data":{"key":"upgraded"}}`)
	}
	for name, before := range map[string]func(){
		"alone":                           func() {},
		"after storing what was deployed": func() { pending(f.mallory, declared) },
	} {
		f.Installed(f.Cluster.Helm4(), "app", declared)
		interrupted()
		f.deleteRecord(f.Env, "app", 2)
		f.WaitField(kit.ConfigMaps, "app", "data.key", "declared")
		f.WaitReady("app", 1)

		interrupted()
		before()
		f.deleteRecord(f.mallory, "app", 2)
		f.doubted("app", 1, "nothing shows that the writer of revision 1")
		got := f.Get(kit.ConfigMaps, "app")
		check.That(t, strings.Contains(fmt.Sprint(got.Object["data"]), "upgraded"), "%s: the upgrade was undone: %v", name,
			got.Object["data"])
		f.DeleteHelmRelease("app")
		f.Helm(f.Cluster.Helm4(), "uninstall", "app")
	}
}

// Managed fields excuse a difference to a record from before the lock, if none but Helm wrote to the object. Still the
// object is not as declared: its next revert would write what the record declares.
func TestI14_AnExcusedDifferenceIsNotAsDeclared(t *testing.T) {
	t.Parallel()
	f := newTrusting(t, witnessed)
	declared := kit.ConfigMap("app", "declared") + f.clusterRole()
	f.Helm(f.Cluster.Helm4(), "install", "app", f.Chart("app", declared))
	role, err := f.In(clusterRoles, "").Get(f.Ctx, "reader-of-"+f.Apps, metav1.GetOptions{})
	check.NoError(t, err)
	f.NextSecond(role)
	f.mallory.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Manifest: strings.Replace(declared, "nodes", "secrets", 1)})
	f.CreateHelmRelease("app")
	f.doubted("app", 2, "nothing shows that the writer of revision 2")
}

// The metadata of --objectset-metadata is never Helm's, so objects without it are as declared.
func TestI14_MissingObjectSetMetadataIsNoDoubt(t *testing.T) {
	t.Parallel()
	f := newTrusting(t, witnessed, func(o *operator.ControllerOptions) { o.ObjectSetMetadata = true })
	check.NoError(t, f.Cluster.Except("I3", f.Apps, "the operator writes ObjectSet metadata"))
	f.front.to("")
	f.Installed(f.Cluster.Helm4(), "app", kit.ConfigMap("app", "declared"))
	f.Until("the metadata is written", func() (any, bool) {
		labels := f.Get(kit.ConfigMaps, "app").GetLabels()
		return labels, labels[classic.Hash] != ""
	})
}
