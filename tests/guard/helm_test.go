package guard

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// commands is how many commands of each Helm TestI13_HelmIsNeverRefused runs at least.
var commands = flag.Int("commands", 16, "commands of each Helm in TestI13_HelmIsNeverRefused")

// Every operation of Helm on a guarded release passes under continuous tampering: no command fails, and afterwards
// every object is as Helm left it.
func TestI13_HelmIsNeverRefused(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, h cluster.Helm) {
		f := newFixture(t)
		chart := f.guarded(h, "shop", shop)
		f.inForce(kit.Deployments, "web")
		var more []string
		if strings.HasSuffix(t.Name(), "4") {
			more = []string{"--force-conflicts"} // others own what they change while Helm works
		}
		denied, stop := f.tamperAlways()
		rounds := (*commands + 7) / 8 * 5 // eight commands in five rounds, of which the last only upgrades
		for round := range rounds {
			n := round + 2
			set := []string{"--set", fmt.Sprintf("replicas=%d,tag=%d,key=k%d,password=p%d", n, n, n, n)}
			f.Helm(h, slices.Concat([]string{"upgrade", "shop", chart}, set, more)...)
			if round%3 == 0 { // an upgrade finds the release locked, and otherwise wherever the operator is
				f.WaitReady("shop", 0)
			}
			switch round % 5 {
			case 1:
				f.Helm(h, append([]string{"rollback", "shop"}, more...)...)
			case 2:
				f.Helm(h, "uninstall", "shop")
				f.Helm(h, append([]string{"install", "shop", chart}, set...)...)
			case 3:
				f.Helm(h, "uninstall", "shop", "--keep-history")
				f.Helm(h, slices.Concat([]string{"upgrade", "--install", "shop", chart}, set, more)...)
			}
		}
		stop()
		last := fmt.Sprint("k", rounds+1)
		f.WaitField(kit.ConfigMaps, "settings", "data.key", last)
		f.WaitField(kit.Deployments, "web", "spec.replicas", int64(rounds+1))
		f.WaitReady("shop", 0)
		check.That(t, denied.Load() != 0, "nothing was refused, so the test shows nothing")
		t.Logf("%d changes of others were refused", denied.Load())
	})
}

// tamperAlways changes the objects of shop until stop is called, and counts the refusals. It deletes nothing: Helm
// itself fails when an object that it changes is deleted meanwhile.
func (f *fixture) tamperAlways() (denied *atomic.Int64, stop func()) {
	f.Helper()
	denied = &atomic.Int64{}
	ctx, cancel := context.WithCancel(f.Ctx)
	var running sync.WaitGroup
	for gvr, patch := range map[schema.GroupVersionResource]string{
		kit.ConfigMaps: changed, kit.Deployments: `{"spec":{"replicas":99}}`, kit.Secrets: `{"stringData":{"password":"x"}}`,
	} {
		running.Go(func() {
			for ctx.Err() == nil {
				err := f.TryPatch(gvr, shopNames[gvr], patch)
				if err != nil && strings.Contains(err.Error(), "helm-locker: ") {
					denied.Add(1)
				}
			}
		})
	}
	stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	f.Cleanup(stop)
	return denied, stop
}

// A takeover of an object by another release passes while that one installs, and not before.
func TestI13_AnotherReleaseTakesOver(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, h cluster.Helm) {
		f := newFixture(t)
		f.guarded(h, "shop", shop)
		f.inForce(kit.ConfigMaps, "settings")
		f.refused(kit.ConfigMaps, "settings", "", "annotate", "configmap", "settings", "--overwrite",
			"meta.helm.sh/release-name=heir")
		chart := f.Chart("heir", strings.ReplaceAll(kit.ConfigMap("settings", "inherited"), "\n---", ""))
		f.Helm(h, "install", "heir", chart, "--take-ownership")
		f.WaitField(kit.ConfigMaps, "settings", "data.key", "inherited")
	})
}

// Helm deletes objects even if it could not store the status uninstalling. Its deletions are then indistinguishable
// from a user's, so they are refused, and Helm reports the reason. Nothing is lost, and there are two remedies: a
// record that can be stored, and a suspension.
func TestI13_UninstallationThatCannotStoreItsRecord(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, h cluster.Helm) {
		for _, way := range []string{"stored", "suspended"} {
			t.Run(way, func(t *testing.T) {
				f := newFixture(t)
				check.NoError(t, f.Cluster.Except("I13", f.Apps, "Helm goes on without a stored record"))
				f.guarded(h, "shop", shop)
				f.inForce(kit.ConfigMaps, "settings")
				// Helm cannot store the status uninstalling.
				allow := f.Deny(kit.Secrets,
					"!('status' in object.metadata.labels) || object.metadata.labels['status'] != 'uninstalling'",
					"sh.helm.release.v1.shop.v1", `{"metadata":{"labels":{"status":"uninstalling"}}}`)
				before := f.Get(kit.ConfigMaps, "settings").GetUID()
				out, err := h.Run(f.Ctx, "uninstall", "shop", "--namespace", f.Apps, "--debug")
				words := fmt.Sprintf(`its deletion was refused. Use "helm upgrade shop -n %[1]s" or `+
					`"helm uninstall shop -n %[1]s", which has to store its record first`, f.Apps)
				check.That(t, err != nil && strings.Contains(strings.ReplaceAll(out+err.Error(), `\"`, `"`), words),
					"the uninstallation: %v: %s", err, out)
				f.WaitReady("shop", 1)
				check.Equal(t, f.Get(kit.ConfigMaps, "settings").GetUID(), before, "an object was deleted")
				if way == "stored" {
					allow()
					f.Eventually("the command can be repeated", func() error {
						_, err := h.Run(f.Ctx, "uninstall", "shop", "--namespace", f.Apps)
						return err
					})
				} else {
					f.PatchHelmRelease("shop", `{"spec":{"suspend":true}}`)
					f.WaitReason("shop", v1alpha1.ConditionReady, v1alpha1.ReasonSuspended)
					f.Helm(h, "uninstall", "shop")
				}
				check.That(t, f.Get(kit.ConfigMaps, "settings") == nil, "the object is still there")
			})
		}
	})
}

// A release that has records in both storages takes an object over by the storage in which Helm is at work, whichever
// was written last. Where Helm is at work in neither, the records pass nothing.
func TestI13_AReleaseInBothStoragesTakesOver(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(o *operator.ControllerOptions) { o.ReleaseStorage = "secret,configmap" })
	f.guarded(kit.Shared.Helm3(), "shop", shop)
	f.inForce(kit.ConfigMaps, "settings")
	takeOver := []string{"annotate", "configmap", "settings", "--overwrite", "meta.helm.sh/release-name=heir"}
	inherits := kit.ForgedRecord{Name: "heir", Manifest: kit.ConfigMap("settings", "inherited"), Storage: release.ConfigMaps}
	other := kit.ForgedRecord{Name: "heir", Manifest: kit.ConfigMap("rest", "x")}
	last := other
	last.Labels = map[string]string{"modifiedAt": "4000000000"}
	f.Forge(inherits)
	f.Forge(last)
	f.refused(kit.ConfigMaps, "settings", "", takeOver...)
	other.Storage = release.ConfigMaps
	f.Forge(other)
	inherits.Revision, inherits.Status = 2, "pending-upgrade"
	f.Forge(inherits)
	f.passes(takeOver...)
}

// isCheck matches the guard's request before a refusal: a list of the records of a release.
func isCheck(r *http.Request) bool {
	return cluster.ForResource("secrets", http.MethodGet)(r) && !cluster.IsWatch(r) &&
		strings.Contains(r.URL.Query().Get("labelSelector"), "name=shop")
}

// Helm stores its record and then changes an object, and the operator has observed neither: its watches deliver
// nothing and its lock is older. The check before a refusal lets the change pass.
func TestI13_ARecordThatIsOnItsWay(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	h := kit.Shared.Helm3()
	chart := f.guarded(h, "shop", shop)
	f.inForce(kit.ConfigMaps, "settings")
	release := f.Proxy.HoldWatch(nil)
	f.Proxy.Reset()
	f.Helm(h, "upgrade", "shop", chart, "--set", "key=new,replicas=3")
	got := kit.Field(f.Get(kit.ConfigMaps, "settings"), "data.key")
	check.That(t, got == "new", "key is %v", got)
	check.That(t, slices.ContainsFunc(f.Proxy.Requests(), func(r cluster.Request) bool {
		return r.Resource() == "secrets" && strings.Contains(r.Query.Get("labelSelector"), "name=shop")
	}), "nothing was checked, so the test shows nothing")
	release()
	f.WaitReady("shop", 2)
	f.WaitField(kit.ConfigMaps, "settings", "data.key", "new")
}

// The record is stored during the guard's check. The reviewed request is older than that, and refused; Helm's
// requests are newer, and pass.
func TestI13_ARecordWhileTheGuardChecks(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	h := kit.Shared.Helm3()
	chart := f.guarded(h, "shop", shop)
	f.inForce(kit.ConfigMaps, "settings")
	for name, hold := range map[string]func(cluster.Match) *cluster.Hold{
		"before the list": f.Proxy.HoldRequests, "after the list": f.Proxy.HoldAnswers,
	} {
		held := hold(isCheck)
		patched := make(chan error, 1)
		go func() {
			err := f.TryPatch(kit.ConfigMaps, "settings", changed)
			patched <- err
		}()
		f.WaitHeld(held, 1)
		done := make(chan string, 1)
		go func() {
			done <- f.Helm(h, "upgrade", "shop", chart, "--set", "key="+strings.ReplaceAll(name, " ", "-"))
		}()
		f.Until("Helm's record is stored", func() (any, bool) {
			list, err := f.Kube.CoreV1().Secrets(f.Apps).
				List(f.Ctx, metav1.ListOptions{LabelSelector: "owner=helm,status=pending-upgrade"})
			check.NoError(t, err)
			return len(list.Items), len(list.Items) > 0
		})
		held.Release()
		if err := <-patched; name == "after the list" && err == nil {
			t.Logf("%s: the change passed because the check came too late", name)
		}
		<-done
		f.WaitReady("shop", 0)
		f.WaitField(kit.ConfigMaps, "settings", "data.key", strings.ReplaceAll(name, " ", "-"))
	}
}
