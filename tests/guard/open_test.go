package guard

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// bound is how long a write may take when the guard does not answer: the webhook's timeout, and room for the rest.
const bound = 5 * time.Second

// A guard that is down, hangs or has a wrong certificate blocks nothing. Drift that passed is reverted.
func TestI13_ABrokenGuardBlocksNothing(t *testing.T) {
	t.Parallel()
	f := newShop(t)
	var held *cluster.Hold
	for _, c := range []struct {
		name   string
		breaks func()
		mends  func()
	}{
		{"connections are refused", func() { f.front.to("") }, nil},
		{"connections hang", func() { f.front.hold() }, nil},
		{"its certificate is another one", func() {
			other := newFixture(t)
			other.guarded(kit.Shared.Helm3(), "other", kit.ConfigMap("other", "declared"))
			f.front.to(other.front.address())
		}, nil},
		{"the API server does not answer it", func() {
			f.front.to(f.guardAddress(f.Running))
			held = f.Proxy.HoldRequests(isCheck)
		}, func() { held.Release() }}, // the operator cannot revert before either
	} {
		c.breaks()
		begun := time.Now()
		err := f.TryPatch(kit.ConfigMaps, "settings", changed)
		took := time.Since(begun)
		check.That(t, err == nil && took <= bound, "%s: after %s: %v", c.name, took, err)
		if c.mends != nil {
			c.mends()
		}
		f.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
	}
}

// A stopped operator blocks nothing, and the next one reverts the drift of the meantime.
func TestI13_AStoppedOperatorBlocksNothing(t *testing.T) {
	t.Parallel()
	f := newShop(t)
	f.Running.Stop()
	f.passes("patch", "configmap", "settings", "-p", changed)
	f.passes("scale", "deployment", "web", "--replicas=7")
	f.startServed()
	f.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
	f.inForce(kit.ConfigMaps, "settings")
}

// The certificate is renewed without a restart, whatever happened to it.
func TestI13_TheCertificateIsPutRight(t *testing.T) {
	t.Parallel()
	f := newShop(t)
	secrets, name := f.Kube.CoreV1().Secrets(f.Operator), f.Operator+"-guard"
	first, err := secrets.Get(f.Ctx, name, metav1.GetOptions{})
	check.NoError(t, err)
	for what, breaks := range map[string]func() error{
		"it is junk": func() error {
			_, err := secrets.Patch(f.Ctx, name, types.MergePatchType, []byte(`{"data":{"tls.crt":"anVuaw=="}}`),
				metav1.PatchOptions{})
			return err
		},
		"it is gone": func() error { return secrets.Delete(f.Ctx, name, metav1.DeleteOptions{}) },
	} {
		check.NoError(t, breaks())
		f.Until("there is another certificate: "+what, func() (any, bool) {
			now, err := secrets.Get(f.Ctx, name, metav1.GetOptions{})
			return err, err == nil && string(now.Data[corev1.TLSCertKey]) != string(first.Data[corev1.TLSCertKey]) &&
				strings.HasPrefix(string(now.Data[corev1.TLSCertKey]), "-----BEGIN")
		})
		f.inForce(kit.ConfigMaps, "settings")
	}
}
