package integration

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

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
		return cluster.Fail(http.StatusForbidden, metav1.StatusReasonForbidden, "exceeded quota")
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
	w.Eventually("the object exists again", func() error {
		if u := w.Get(kit.ConfigMaps, "settings"); u == nil || kit.Field(u, "data.key") != "declared" {
			return fmt.Errorf("it is %v", u)
		}
		return nil
	})
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
			hold := w.Proxy.HoldAnswers(func(r *http.Request) bool {
				return cluster.ForResource("configmaps", stage.held)(r) && r.URL.Query().Get("dryRun") == ""
			})
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
