package tenancy

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
	"github.com/rancher/helm-locker/tests/lib/process"
)

// newAdministrator starts an operator that writes in its own name and is an administrator of the cluster, as with the
// chart's default profile.
func newAdministrator(t *testing.T, options ...func(*operator.ControllerOptions)) *fixture {
	t.Helper()
	w := newFixture(t, append(options, func(o *operator.ControllerOptions) { o.Impersonate = false })...)
	w.administer(w.subject)
	return w
}

// policy creates a policy for all releases in Apps, as the first step of docs/policies.md does, in mode Enforce.
func (w *fixture) policy(name string) {
	w.Helper()
	w.followPolicies()
	_, err := w.In(kit.HelmReleasePolicies, w.Operator).Create(w.Ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.SchemeGroupVersion.String(), "kind": v1alpha1.PolicyKind,
		"metadata": map[string]any{"name": name, "namespace": w.Operator},
		"spec":     map[string]any{"match": map[string]any{"namespaces": []any{w.Apps}}},
	}}, metav1.CreateOptions{})
	check.NoError(w, err)
}

// policySays waits until Ready of a policy has a reason and a message with all the wanted parts.
func (w *fixture) policySays(name, reason string, parts ...string) {
	w.Helper()
	w.Until("Ready of policy "+name+" has reason "+reason, func() (any, bool) {
		s := w.policyStatus(name)
		c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)
		return s, c != nil && c.Reason == reason && containsAll(c.Message, parts)
	})
}

// policyStatus returns the status of a policy, an empty one unless it is about the present spec.
func (w *fixture) policyStatus(name string) v1alpha1.HelmReleasePolicyStatus {
	w.Helper()
	u, err := w.In(kit.HelmReleasePolicies, w.Operator).Get(w.Ctx, name, metav1.GetOptions{})
	check.NoError(w, err)
	p := &v1alpha1.HelmReleasePolicy{}
	check.NoError(w, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, p))
	if p.Status.ObservedGeneration != p.Generation {
		return v1alpha1.HelmReleasePolicyStatus{}
	}
	return p.Status
}

// made waits for a HelmRelease made by a policy for a release in Apps, and returns its name.
func (w *fixture) made(release string) string {
	w.Helper()
	name := w.Apps + "." + release
	w.WaitFieldIn(kit.HelmReleases, w.Operator, name, "metadata.name", name)
	return name
}

// mode fails the test unless a HelmRelease has a mode.
func (w *fixture) mode(name string, want v1alpha1.Mode) {
	w.Helper()
	if got := w.HelmRelease(name).Spec.Mode; got != want {
		w.Errorf("HelmRelease %s has mode %s, want %s", name, got, want)
	}
}

// bound reports whether a ClusterRoleBinding exists.
func (w *fixture) bound(name string) bool {
	w.Helper()
	_, err := w.Kube.RbacV1().ClusterRoleBindings().Get(w.Ctx, name, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		check.NoError(w, err)
	}
	return err == nil
}

// A user with the right to write Secrets in a namespace forges the record of a release that makes them the
// administrator of the cluster. A policy without an account matches it, and the operator is an administrator. Without
// an explicit acceptance the release is compared and nothing is written, even if the operator trusts any record.
func TestHostile_ForgedRecordUnderAPolicyGainsNothing(t *testing.T) {
	t.Parallel()
	w := newAdministrator(t, func(o *operator.ControllerOptions) { o.TrustRecords = operator.TrustAny })
	_, person := w.tenant(w.Apps)
	early, late, last := "early-"+w.Apps, "late-"+w.Apps, "last-"+w.Apps
	// The record accepted below must not give the tenant's account rights for the rest of the test.
	person.Forge(kit.ForgedRecord{Name: "early", Manifest: clusterAdmin(early, "nobodys")})
	w.policy("every")
	w.policySays("every", v1alpha1.ReasonAcceptanceRequired, "the operator's own rights", "write a release record",
		"acceptRecordsOfAnyone: true", "serviceAccountName")
	name := w.made("early")
	w.Says(name, v1alpha1.ConditionLocked, v1alpha1.ReasonDetectOnly)
	w.Says(name, v1alpha1.ConditionDrifted, v1alpha1.ReasonDriftDetected, early)
	w.mode(name, v1alpha1.ModeDetect)
	w.event("every", v1alpha1.EventReasonAcceptanceRequired, "acceptRecordsOfAnyone")
	for _, r := range w.Proxy.Writes() {
		if !kit.IsOwn(r) && r.Resource() != v1alpha1.PolicyResourceName && r.Query.Get("dryRun") == "" {
			t.Errorf("written: %s", r)
		}
	}
	check.That(t, !w.bound(early), "the tenant is an administrator")

	// An acceptance enables exactly that.
	w.PatchIn(kit.HelmReleasePolicies, w.Operator, "every", `{"spec":{"acceptRecordsOfAnyone":true}}`)
	w.policySays("every", v1alpha1.ReasonApplied, "mode Enforce with the operator's own rights")
	w.Until("the forged record is enforced", func() (any, bool) { return "none", w.bound(early) })

	// Without it, enforced releases stay enforced, and no new one is.
	w.PatchIn(kit.HelmReleasePolicies, w.Operator, "every", `{"spec":{"acceptRecordsOfAnyone":false}}`)
	w.policySays("every", v1alpha1.ReasonAcceptanceRequired, "1 that had mode Enforce")
	person.Forge(kit.ForgedRecord{Name: "late", Manifest: clusterAdmin(late, w.Apps)})
	w.Says(w.made("late"), v1alpha1.ConditionDrifted, v1alpha1.ReasonDriftDetected, late)
	w.mode(name, v1alpha1.ModeEnforce)
	w.mode(w.made("late"), v1alpha1.ModeDetect)

	// An account enforces with its own rights, and its name can not be dropped without an acceptance.
	w.PatchIn(kit.HelmReleasePolicies, w.Operator, "every",
		`{"spec":{"template":{"spec":{"serviceAccountName":"deployer"}}}}`)
	w.policySays("every", v1alpha1.ReasonApplied, "mode Enforce as ServiceAccount deployer")
	w.Says(w.made("late"), v1alpha1.ConditionReady, v1alpha1.ReasonForbidden, late)
	w.PatchIn(kit.HelmReleasePolicies, w.Operator, "every", `{"spec":{"template":{"spec":{"serviceAccountName":null}}}}`)
	w.policySays("every", v1alpha1.ReasonAcceptanceRequired, "2 that had mode Enforce")
	person.Forge(kit.ForgedRecord{Name: "last", Manifest: clusterAdmin(last, w.Apps)})
	w.Says(w.made("last"), v1alpha1.ConditionDrifted, v1alpha1.ReasonDriftDetected, last)
	hr := w.HelmRelease(w.made("late"))
	check.That(t, hr.Spec.ServiceAccountName == deployer && hr.Spec.Mode == v1alpha1.ModeEnforce,
		"the account of a release is %q, its mode %s", hr.Spec.ServiceAccountName, hr.Spec.Mode)
	check.That(t, !w.bound(late) && !w.bound(last), "the tenant is an administrator")
}

// Of an operator that enforces trusted records only, a policy needs no acceptance, and none makes a record trusted.
func TestHostile_ForgedRecordUnderAPolicyIsNotTrusted(t *testing.T) {
	t.Parallel()
	address, err := process.FreeAddress()
	check.NoError(t, err)
	w := newAdministrator(t, func(o *operator.ControllerOptions) {
		o.TrustRecords = operator.TrustWitnessed
		o.Guard = operator.GuardOptions{Address: address, URL: "https://" + address}
	})
	_, person := w.tenant(w.Apps)
	forged := "pwned-" + w.Apps
	person.Forge(kit.ForgedRecord{Name: "app", Manifest: clusterAdmin(forged, w.Apps)})
	w.policy("every")
	w.policySays("every", v1alpha1.ReasonApplied, "mode Enforce")
	w.Says(w.made("app"), v1alpha1.ConditionLocked, v1alpha1.ReasonRecordNotTrusted, "revision 1")
	w.PatchIn(kit.HelmReleasePolicies, w.Operator, "every", `{"spec":{"acceptRecordsOfAnyone":true}}`)
	w.policySays("every", v1alpha1.ReasonApplied, "mode Enforce")
	person.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Manifest: clusterAdmin(forged, w.Apps)})
	w.Says(w.made("app"), v1alpha1.ConditionLocked, v1alpha1.ReasonRecordNotTrusted, "revision 2")
	check.That(t, !w.bound(forged), "the tenant is an administrator")
}

// With --impersonate no policy lends the operator's rights, so none needs an acceptance.
func TestHostile_APolicyOfAnImpersonatingOperatorNeedsNoAcceptance(t *testing.T) {
	t.Parallel()
	w := newFixture(t, byDefault)
	_, person := w.tenant(w.Apps)
	person.Forge(kit.ForgedRecord{Name: "app", Manifest: clusterAdmin("pwned-"+w.Apps, w.Apps)})
	w.policy("every")
	w.policySays("every", v1alpha1.ReasonApplied)
	w.Says(w.made("app"), v1alpha1.ConditionReady, v1alpha1.ReasonForbidden, "pwned-"+w.Apps)
	w.mode(w.made("app"), v1alpha1.ModeEnforce)
	check.That(t, !w.bound("pwned-"+w.Apps), "the tenant is an administrator")
}

// An account without rights protects nothing, and neither the conditions nor the metrics nor the rollout of the
// policy claim the opposite.
func TestHostile_AnAccountWithoutRightsIsNoLock(t *testing.T) {
	t.Parallel()
	w := newFixture(t, byDefault, func(o *operator.ControllerOptions) { o.MetricsAddress = "127.0.0.1:0" })
	account := w.Account(w.Apps, deployer)
	w.Helm(kit.Shared.Helm4(), "install", "app", w.Chart("app", kit.ConfigMap("settings", "declared")))
	w.CreateHelmRelease("app")
	w.policy("every")
	w.Patch(kit.ConfigMaps, "settings", `{"data":{"key":"tampered"}}`)
	says := func(name, reason string, drifted metav1.ConditionStatus) {
		t.Helper()
		w.Says(name, v1alpha1.ConditionLocked, reason, "0 of 1 object protected", "ConfigMap "+w.Apps+"/settings")
		w.Says(name, v1alpha1.ConditionDrifted, v1alpha1.ReasonNotCompared, "1 of 1 object not compared")
		for kind, want := range map[string]metav1.ConditionStatus{v1alpha1.ConditionLocked: metav1.ConditionFalse,
			v1alpha1.ConditionDrifted: drifted, v1alpha1.ConditionReady: metav1.ConditionFalse} {
			check.Equal(t, w.Condition(name, kind).Status, want, "%v", kind)
		}
	}
	says("app", v1alpha1.ReasonForbidden, metav1.ConditionUnknown)
	locked := func(value int) string {
		return fmt.Sprintf(`helm_locker_locked{release="app",release_namespace="%s"} %d`, w.Apps, value)
	}
	w.measures(locked(0))

	w.PatchIn(kit.HelmReleasePolicies, w.Operator, "every", `{"spec":{"rollout":{"interval":"1m","drifted":"Revert"}}}`)
	w.policySays("every", v1alpha1.ReasonApplied) // else the release may be enforced without the rollout
	w.DeleteHelmRelease("app")
	w.Says(w.made("app"), v1alpha1.ConditionDrifted, v1alpha1.ReasonNotCompared)
	w.Until("the rollout names the release that it waits for", func() (any, bool) {
		r := w.policyStatus("every").Rollout
		return r, r != nil && r.State == v1alpha1.RolloutProgressing && r.Waiting == 1 &&
			strings.Contains(r.Message, w.Apps+"/app")
	})

	// With rights all of them change automatically.
	w.grant(w.Apps, account, workloads()...)
	w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
	w.WaitReady(w.made("app"), 1)
	w.Says(w.made("app"), v1alpha1.ConditionLocked, v1alpha1.ReasonLocked, "revision 1: 1 object protected")
	w.measures(locked(1))
	w.Until("the rollout is complete", func() (any, bool) {
		s := w.policyStatus("every")
		return s, s.Rollout != nil && s.Rollout.State == v1alpha1.RolloutComplete && s.Releases.Locked == 1
	})
}

// measures waits until the metrics of the operator have a line.
func (w *fixture) measures(line string) {
	w.Helper()
	w.Until("the metrics have "+line, func() (any, bool) {
		text := kit.Metrics(w, w.Running)
		return text, strings.Contains(text, line)
	})
}
