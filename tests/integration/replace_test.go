package integration

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

var (
	roleBindings = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"}
	statefulSets = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
)

var immutable = kit.ConfigMap("settings", "declared") + web + viewBinding + `---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: db, image: "example.com/db:1"}]}}
`

// freeze makes irreversible changes: the objects are deleted and re-created with another value in an immutable field,
// all in the name of the release.
func (w *fixture) freeze() {
	w.Helper()
	w.Patch(kit.ConfigMaps, "settings", `{"immutable":true,"data":{"key":"frozen"}}`)
	w.remake(kit.Deployments, "web", func(content map[string]any) {
		spec, labels := content["spec"].(map[string]any), map[string]any{"app": "tampered"}
		spec["selector"] = map[string]any{"matchLabels": labels}
		spec["template"].(map[string]any)["metadata"] = map[string]any{"labels": labels}
	})
	w.remake(statefulSets, "db", func(content map[string]any) {
		content["spec"].(map[string]any)["serviceName"] = "tampered"
	})
}

// remake deletes an object and creates it with a changed content before the operator can.
func (w *fixture) remake(gvr schema.GroupVersionResource, name string, change func(content map[string]any)) {
	w.Helper()
	hold := w.Proxy.HoldRequests(cluster.ForResource(gvr.Resource, http.MethodPost))
	defer hold.Release()
	u := w.Get(gvr, name)
	w.Delete(gvr, name)
	w.Until(name+" is gone", func() (any, bool) { return "it exists", w.Get(gvr, name) == nil })
	u.Object["metadata"] = map[string]any{"name": name, "labels": kit.Field(u, "metadata.labels"),
		"annotations": kit.Field(u, "metadata.annotations")}
	change(u.Object)
	w.create(gvr, u.Object)
}

// By default an irreversible change is reported with its immutable field, and nothing is deleted.
func TestImmutableFieldsAreReported(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Installed(kit.Shared.Helm3(), "app", immutable)
	w.freeze()
	w.Says("app", v1alpha1.ConditionDrifted, v1alpha1.ReasonRevertFailed, "ConfigMap "+w.Apps+"/settings", "data (",
		"spec.selector (", "spec.replaceImmutable", "StatefulSet "+w.Apps+"/db", "never replaced")
	w.Says("app", v1alpha1.ConditionReady, v1alpha1.ReasonRevertFailed)
	// The others are protected as before.
	w.Patch(kit.Services, "web", `{"spec":{"selector":{"app":"tampered"}}}`)
	w.WaitField(kit.Services, "web", "spec.selector.app", "web")
	for _, r := range kit.ObjectWrites(w.Proxy) {
		check.That(t, r.Method != http.MethodDelete, "a deletion: %s", r)
	}
}

func TestImmutableFieldsAreReplacedWhereAllowed(t *testing.T) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		chart := w.Installed(helm, "app", immutable,
			func(hr *v1alpha1.HelmRelease) { hr.Spec.ReplaceImmutable = true })
		w.freeze()
		w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
		w.WaitField(kit.ConfigMaps, "settings", "immutable", nil)
		w.WaitField(kit.Deployments, "web", "spec.selector.matchLabels.app", "web")
		w.Eventually("what must not be replaced is reported", func() error {
			message := w.Condition("app", v1alpha1.ConditionDrifted).Message
			if !strings.Contains(message, "StatefulSet") || !strings.Contains(message, "never replaced") ||
				strings.Contains(message, "Deployment") {
				return fmt.Errorf("message: %s", message)
			}
			return nil
		})
		w.Eventually("the replacements are in recentDrift", func() error {
			replaced := map[string]bool{}
			for _, r := range w.HelmRelease("app").Status.RecentDrift {
				if r.Action == v1alpha1.DriftActionReplaced {
					replaced[r.Object.Kind] = true
				}
			}
			if !replaced["ConfigMap"] || !replaced["Deployment"] || len(replaced) != 2 {
				return fmt.Errorf("it has %v", replaced)
			}
			return nil
		})
		got := kit.Field(w.Get(statefulSets, "db"), "spec.serviceName")
		check.That(t, got == "tampered", "the StatefulSet was replaced: serviceName is %v", got)
		w.DeleteIn(statefulSets, w.Apps, "db")
		w.WaitField(statefulSets, "db", "spec.serviceName", "db")
		w.WaitReady("app", 1)
		w.Helm(helm, "upgrade", "app", chart)
		w.WaitReady("app", 2)
	})
}

// An object is not deleted when the API server would not let it be created again.
func TestNothingIsReplacedThatCouldNotBeCreated(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Installed(kit.Shared.Helm3(), "app", immutable,
		func(hr *v1alpha1.HelmRelease) { hr.Spec.ReplaceImmutable = true })
	remove := w.Proxy.On(cluster.ForResource("configmaps", http.MethodPost).And(cluster.ForQuery("dryRun", "All")),
		cluster.Fail(http.StatusForbidden, "exceeded quota: tight"))
	uid := w.Get(kit.ConfigMaps, "settings").GetUID()
	w.Patch(kit.ConfigMaps, "settings", `{"immutable":true,"data":{"key":"frozen"}}`)
	w.Says("app", v1alpha1.ConditionDrifted, v1alpha1.ReasonRevertFailed, "exceeded quota")
	check.Equal(t, w.Get(kit.ConfigMaps, "settings").GetUID(), uid, "the ConfigMap was replaced")
	remove()
	w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
}

// lockReplaceable locks a release whose ConfigMap settings may be replaced, and returns its record.
func (w *fixture) lockReplaceable() kit.ForgedRecord {
	w.Helper()
	record := kit.ForgedRecord{Name: "app", Manifest: kit.ConfigMap("settings", "declared")}
	w.Forge(record)
	w.Lock("app", func(hr *v1alpha1.HelmRelease) { hr.Spec.ReplaceImmutable = true })
	return record
}

func TestRoleReferenceIsReplaced(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Installed(kit.Shared.Helm4(), "app", immutable,
		func(hr *v1alpha1.HelmRelease) { hr.Spec.ReplaceImmutable = true })
	w.remake(roleBindings, "view", func(content map[string]any) {
		content["roleRef"].(map[string]any)["name"] = "admin"
	})
	w.WaitField(roleBindings, "view", "roleRef.name", "view")
	w.WaitReady("app", 1)
}

// The operator has deleted the object when Helm begins to uninstall: its re-creation is undone. When Helm begins an
// upgrade, which relies on the object, the object stays.
func TestI1_ReplacementWhileHelmBegins(t *testing.T) {
	t.Parallel()
	for status, stays := range map[string]bool{"uninstalling": false, "pending-upgrade": true} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			record := w.lockReplaceable()
			w.Proxy.Reset()
			hold := w.Proxy.HoldAnswers(cluster.ForResource("configmaps", http.MethodDelete))
			w.Patch(kit.ConfigMaps, "settings", `{"immutable":true,"data":{"key":"frozen"}}`)
			check.NoError(t, hold.Wait(t.Context(), 1))
			record.Status = status
			if stays {
				record.Revision = 2
			}
			w.Forge(record)
			hold.Release()
			w.WaitState("app", v1alpha1.StateTransitioning)
			want := []string{http.MethodDelete, http.MethodPost}
			if !stays {
				want = append(want, http.MethodDelete)
			}
			w.Eventually("the object was created, and taken back if it should be", func() error {
				var after []string
				for _, r := range kit.ObjectWrites(w.Proxy) {
					answered := r.Code != 0
					if answered && (r.Method == http.MethodPost || r.Method == http.MethodDelete) {
						after = append(after, r.Method)
					}
				}
				if !slices.Equal(after, want) {
					return fmt.Errorf("writes: %v", after)
				}
				return nil
			})
			u := w.Get(kit.ConfigMaps, "settings")
			check.That(t, (u != nil) == stays, "the object exists: %v", u != nil)
		})
	}
}

// Helm begins an upgrade during the replacement of an object, finds it as declared, and fails at another one; the
// creation is refused. Only the operator knows that the object is missing.
func TestI1_ReplacementThatFailsWhileHelmUpgrades(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	record := w.lockReplaceable()
	hold := w.Proxy.HoldAnswers(cluster.ForResource("configmaps", http.MethodDelete))
	w.Patch(kit.ConfigMaps, "settings", `{"immutable":true,"data":{"key":"frozen"}}`)
	check.NoError(t, hold.Wait(t.Context(), 1))
	record.Revision, record.Status = 2, "pending-upgrade"
	w.Forge(record)
	isCreation := cluster.ForResource("configmaps", http.MethodPost)
	refused := make(chan struct{}, 1)
	permit := w.Proxy.Intercept(func(r *http.Request) cluster.Action {
		if !isCreation(r) {
			return cluster.Forward()
		}
		select {
		case refused <- struct{}{}:
		default:
		}
		return cluster.Fail(http.StatusForbidden, "exceeded quota")
	})
	hold.Release()
	select {
	case <-refused:
	case <-w.Ctx.Done():
		t.Fatal("nothing was created")
	}
	w.WaitState("app", v1alpha1.StateTransitioning)
	permit()
	record.Status = "failed"
	w.Forge(record)
	w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
}

// An operator that is stopped during a replacement creates the object it has deleted, and does not exit before the
// new one is confirmed.
func TestI1_StoppedInTheMiddleOfAReplacement(t *testing.T) {
	t.Parallel()
	for at, stage := range map[string]struct {
		held        string // the method of the request whose answer is held
		uninstalled bool   // Helm begins to uninstall meanwhile
	}{
		"deleted":                       {http.MethodDelete, false},
		"created while Helm uninstalls": {http.MethodPost, true},
	} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			record := w.lockReplaceable()
			old := w.Get(kit.ConfigMaps, "settings").GetUID()
			hold := w.Proxy.HoldAnswers(cluster.ForResource("configmaps", stage.held).And(cluster.IsReal))
			defer hold.Release()
			w.Patch(kit.ConfigMaps, "settings", `{"immutable":true,"data":{"key":"frozen"}}`)
			check.NoError(t, hold.Wait(w.Ctx, 1))
			if stage.uninstalled {
				record.Status = "uninstalling"
				w.Forge(record)
			}
			w.StopWhileHeld(w.Running, w.Proxy, hold)
			u := w.Get(kit.ConfigMaps, "settings")
			switch {
			case stage.uninstalled && u != nil:
				t.Error("what Helm uninstalls was created again and stays")
			case !stage.uninstalled && u == nil:
				t.Error("the object was deleted and not created again")
			case u != nil && (u.GetUID() == old || kit.Field(u, "data.key") != "declared"):
				t.Errorf("it is not replaced: %v", u.Object)
			}
		})
	}
}
