package guard

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// changed is a patch of the ConfigMap of shop that is drift.
const changed = `{"data":{"key":"tampered"}}`

func TestI13_WarnTellsAndReverts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.guarded(kit.Shared.Helm3(), "shop", shop, func(hr *v1alpha1.HelmRelease) { hr.Spec.Guard = v1alpha1.GuardWarn })
	f.Until("the API server asks", func() (any, bool) {
		out, said := f.kubectl("patch", "configmap", "settings", "-p", changed)
		return said, strings.Contains(out, "patched") &&
			strings.Contains(said, "Warning: helm-locker: ConfigMap "+f.Apps+"/settings belongs to the Helm release ") &&
			strings.Contains(said, "data[key] will be reverted")
	})
	f.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
	out, said := f.kubectl("delete", "configmap", "settings")
	check.That(t, strings.Contains(out, "deleted") && strings.Contains(said, "its deletion will be undone"), "%s%s", out,
		said)
	f.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
}

// A fight in a release whose guard warns is reported with the user observed by the guard.
func TestI6_AFightNamesTheUserThatTheGuardSaw(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.guarded(kit.Shared.Helm3(), "shop", shop, func(hr *v1alpha1.HelmRelease) { hr.Spec.Guard = v1alpha1.GuardWarn })
	me, err := f.Kube.AuthenticationV1().SelfSubjectReviews().Create(f.Ctx, &authenticationv1.SelfSubjectReview{},
		metav1.CreateOptions{})
	check.NoError(t, err)
	f.Until("the fight names the user", func() (any, bool) {
		f.Patch(kit.ConfigMaps, "settings", changed)
		f.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
		c := f.Condition("shop", v1alpha1.ConditionContended)
		return c, c.Reason == v1alpha1.ReasonFightDetected &&
			strings.Contains(c.Message, " by user "+me.Status.UserInfo.Username+"; ")
	})
}

// A guard on a release in mode Detect only warns; the definition enforces that.
func TestI13_DetectWarnsOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.guarded(kit.Shared.Helm3(), "shop", shop, func(hr *v1alpha1.HelmRelease) {
		hr.Spec.Guard, hr.Spec.Mode = v1alpha1.GuardWarn, v1alpha1.ModeDetect
	})
	f.Until("the API server asks", func() (any, bool) {
		_, said := f.kubectl("patch", "configmap", "settings", "--type=merge", "-p", changed)
		return said, strings.Contains(said, "data[key] is drift, and will be reported")
	})
	for patch, words := range map[string]string{
		`{"spec":{"guard":"Deny"}}`: "spec.guard Deny takes spec.mode Enforce",
		`{"spec":{"guard":"deny"}}`: `Unsupported value: "deny"`,
		`{"spec":{"guardExempt":[{"kind":"User","name":"a","namespace":"b"}]}}`: "a ServiceAccount has a namespace",
		`{"spec":{"guardExempt":[{"kind":"ServiceAccount","name":"a"}]}}`:       "a ServiceAccount has a namespace",
		`{"spec":{"guardExempt":[{"kind":"Robot","name":"a"}]}}`:                `Unsupported value: "Robot"`,
	} {
		_, said := f.kubectl("-n", f.Operator, "patch", "helmrelease.helm.cattle.io", "shop", "--type=merge", "-p", patch)
		check.That(t, strings.Contains(said, words), "%s: %s, want %q", patch, said, words)
	}
}

// Changes of exempt subjects pass and are reverted as before: none of them stays.
func TestI13_ExemptSubjectsPass(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.guarded(kit.Shared.Helm3(), "shop", shop, func(hr *v1alpha1.HelmRelease) {
		hr.Spec.GuardExempt = []v1alpha1.GuardSubject{{Kind: v1alpha1.GuardSubjectUser, Name: "alice"},
			{Kind: v1alpha1.GuardSubjectServiceAccount, Namespace: "ci", Name: "deployer"}}
	})
	f.inForce(kit.ConfigMaps, "settings")
	masters := []string{"--as-group", "system:masters", "patch", "configmap", "settings", "-p", changed}
	f.refused(kit.ConfigMaps, "settings", "", append([]string{"--as", "bob"}, masters...)...)
	for _, user := range []string{"alice", "system:serviceaccount:ci:deployer"} {
		f.passes(append([]string{"--as", user}, masters...)...)
		f.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
	}
}

// A suspended release refuses nothing any more, and a resumed one does.
func TestI13_SuspendedPasses(t *testing.T) {
	t.Parallel()
	f := newShop(t)
	f.PatchHelmRelease("shop", `{"spec":{"suspend":true}}`)
	f.Until("the change passes", func() (any, bool) {
		_, said := f.kubectl("patch", "configmap", "settings", "-p", changed)
		return said, said == ""
	})
	f.Until("the registration is gone", func() (any, bool) { return nil, f.registration() == nil })
	f.PatchHelmRelease("shop", `{"spec":{"suspend":null}}`)
	f.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
	f.inForce(kit.ConfigMaps, "settings")
}

// A suspended release is not guarded from then on, although the API server still calls the guard.
func TestI13_SuspendedPassesAtOnce(t *testing.T) {
	t.Parallel()
	f := newShop(t)
	held := f.Proxy.HoldRequests(cluster.ForResource("validatingwebhookconfigurations", http.MethodDelete))
	begun := time.Now()
	f.PatchHelmRelease("shop", `{"spec":{"suspend":true}}`)
	f.WaitHeld(held, 1) // the lock has ended before
	t.Logf("suspended after %s", time.Since(begun))
	f.passes("patch", "configmap", "settings", "-p", changed)
	f.passes("delete", "deployment", "web")
	text := kit.Metrics(f, f.Running)
	check.That(t, strings.Contains(text, `guard_decisions_total{reason="NotLocked",result="allowed"}`),
		"the API server did not ask:\n%s", text)
	held.Release()
}

// Kubernetes' own deletions must never hang: those of a namespace, and those of the garbage collector.
func TestI13_NamespacesAndOwnersGo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	far := f.Namespace("far-" + f.Apps) // the records of the release are elsewhere, and stay
	f.guarded(kit.Shared.Helm3(), "shop", shop+"\n---\n"+
		strings.Replace(kit.ConfigMap("distant", "declared"), "name: distant", "name: distant, namespace: "+far, 1))
	f.inForce(kit.ConfigMaps, "settings")

	// A foreign owner reference has the garbage collector delete the object: at once when the owner does not exist.
	owner, err := f.Kube.CoreV1().ConfigMaps(f.Apps).Create(f.Ctx, configMap("owner"), metav1.CreateOptions{})
	check.NoError(t, err)
	own := func(uid types.UID) []string {
		return []string{"patch", "configmap", "settings", "--type=merge", "-p", fmt.Sprintf(`{"metadata":{"ownerReferences":[`+
			`{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":%q}]}}`, uid)}
	}
	for _, uid := range []types.UID{owner.UID, "00000000-0000-0000-0000-000000000000"} {
		f.refused(kit.ConfigMaps, "settings", "metadata.ownerReferences[0] was refused", own(uid)...)
	}
	// Where references are left to others, the collector's own deletion passes, and the object is created again.
	f.PatchHelmRelease("shop", `{"spec":{"ignore":[{"paths":["/metadata/ownerReferences"]}]}}`)
	f.Until("owners are ignored", func() (any, bool) {
		out, complaint := f.kubectl(own(owner.UID)...)
		return complaint, strings.Contains(out, "patched")
	})
	old := f.Get(kit.ConfigMaps, "settings").GetUID()
	f.passes("delete", "configmap", "owner")
	f.WaitNewObject(kit.ConfigMaps, "settings", old)

	// A finalizer keeps an object, and with it the namespace, so that others can still change it meanwhile.
	patch := func(text string) {
		f.passes("-n", far, "patch", "configmap", "distant", "--type=merge", "-p", text)
	}
	patch(`{"metadata":{"finalizers":["example.com/hold"]}}`)
	check.NoError(t, f.Kube.CoreV1().Namespaces().Delete(f.Ctx, far, metav1.DeleteOptions{}))
	f.Until("the deletion of the ConfigMap is pending", func() (any, bool) {
		u, err := f.In(kit.ConfigMaps, far).Get(f.Ctx, "distant", metav1.GetOptions{})
		return err, err == nil && u.GetDeletionTimestamp() != nil
	})
	patch(changed)
	patch(`{"metadata":{"finalizers":null}}`)
	check.NoError(t, f.Kube.CoreV1().Namespaces().Delete(f.Ctx, f.Apps, metav1.DeleteOptions{}))
	for _, name := range []string{far, f.Apps} {
		f.Until("namespace "+name+" is gone", func() (any, bool) {
			_, err := f.Kube.CoreV1().Namespaces().Get(f.Ctx, name, metav1.GetOptions{})
			return err, apierrors.IsNotFound(err)
		})
	}
}

// A standby answers, too: the API server reaches any of the replicas.
func TestI13_StandbysGuard(t *testing.T) {
	t.Parallel()
	elected := func(o *operator.ControllerOptions) { o.LeaderElection = true }
	f := newFixture(t, elected)
	f.guarded(kit.Shared.Helm3(), "shop", shop)
	f.inForce(kit.ConfigMaps, "settings")
	leader := f.Running
	f.startServed(elected)
	f.Until("the standby refuses", func() (any, bool) {
		_, said := f.kubectl("patch", "configmap", "settings", "-p", changed)
		return said, strings.Contains(said, "denied the request")
	})
	check.That(t, !strings.Contains(f.Running.Log(), "leading"), "the standby leads")
	before := f.registration().UID
	leader.Stop()
	f.Until("the standby leads", func() (any, bool) { return nil, strings.Contains(f.Running.Log(), "leading") })
	f.refused(kit.ConfigMaps, "settings", "data[key] was refused", "patch", "configmap", "settings", "-p", changed)
	check.Equal(t, f.registration().UID, before, "the registration was made anew")
}

// In the name of a release's account the operator replaces objects, too.
func TestI13_TheOperatorsOwnWritesPass(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.guarded(
		kit.Shared.Helm3(),
		"shop",
		strings.Replace(shop, "kind: ConfigMap", "kind: ConfigMap\nimmutable: true", 1),
		func(hr *v1alpha1.HelmRelease) { hr.Spec.ReplaceImmutable = true },
	)
	old := f.Get(kit.ConfigMaps, "settings").GetUID()
	f.front.to("") // so that the change happens
	f.passes("delete", "configmap", "settings")
	f.front.to(f.guardAddress(f.Running))
	f.WaitNewObject(kit.ConfigMaps, "settings", old)
}
