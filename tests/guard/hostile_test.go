package guard

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// A release that declares the guard's objects causes no fight of the operator with itself: no write is made, the
// definitions stay, and the guard stays in force.
func TestHostile_TheGuardsOwnObjectsAreReserved(t *testing.T) {
	t.Parallel()
	f := newShop(t)
	name := f.Operator + "-guard"
	f.Forge(kit.ForgedRecord{Name: "attack", Manifest: fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: %[2]s, namespace: %[1]s}
stringData: {tls.crt: declared}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: %[1]s-%[2]s}
webhooks: []
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: helmreleasepolicies.helm.cattle.io, labels: {of: attack}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: helmreleases.helm.cattle.io, labels: {of: attack}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
data: {key: declared}
`, f.Operator, name)})
	secrets := f.Kube.CoreV1().Secrets(f.Operator)
	secret, err := secrets.Get(f.Ctx, name, metav1.GetOptions{})
	check.NoError(t, err)
	registered := f.registration()
	f.CreateHelmRelease("attack")
	f.WaitReady("attack", 1)
	var reserved []string
	for _, e := range f.HelmRelease("attack").Status.Exceptions {
		if e.Reason == v1alpha1.ExceptionReserved {
			reserved = append(reserved, e.Object.Name)
		}
	}
	slices.Sort(reserved)
	want := []string{"helmreleasepolicies.helm.cattle.io", "helmreleases.helm.cattle.io", registered.Name, name}
	slices.Sort(want)
	check.That(t, slices.Equal(reserved, want), "reserved are %v, want %v", reserved, want)
	f.Reverts("other", "declared")
	f.Throughout(2*time.Second, "nothing is written to the operator's own objects", func() error {
		now, err := secrets.Get(f.Ctx, name, metav1.GetOptions{})
		if err != nil || now.ResourceVersion != secret.ResourceVersion {
			return fmt.Errorf("the Secret was written: %w", err)
		}
		if now := f.registration(); now == nil || now.ResourceVersion != registered.ResourceVersion {
			return fmt.Errorf("the registration was written")
		}
		return nil
	})
	for _, r := range f.Proxy.Writes() {
		check.That(t, !strings.Contains(r.Path, "customresourcedefinitions"), "written: %s", r)
	}
	f.inForce(kit.ConfigMaps, "settings")
}
