package process

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestTrimTakesManagedFieldsAndNothingElse(t *testing.T) {
	hr := &v1alpha1.HelmRelease{ObjectMeta: metav1.ObjectMeta{Name: "shop", Annotations: map[string]string{"a": "b"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}}}
	got, err := trim(hr)
	if err != nil || got != any(hr) || hr.ManagedFields != nil || hr.Name != "shop" || hr.Annotations["a"] != "b" {
		t.Errorf("trimmed to %v, %v", got, err)
	}
	gone := cache.DeletedFinalStateUnknown{Key: "system/shop"}
	if got, err := trim(gone); err != nil || got != any(gone) {
		t.Errorf("a deletion that was missed is trimmed to %v, %v", got, err)
	}
}

// A leader has to be able to repeat a request before it gives up.
func TestARequestAboutTheLeaseIsShort(t *testing.T) {
	config := &rest.Config{Host: "https://localhost"}
	for lease, want := range map[time.Duration]time.Duration{
		15 * time.Second: leaseTimeout, time.Hour: leaseTimeout, 3 * time.Second: time.Second,
	} {
		leases, err := Leases(config, lease)
		check.NoError(t, err)
		client, ok := leases.RESTClient().(*rest.RESTClient)
		if !ok {
			t.Fatalf("the client is a %T", leases.RESTClient())
		}
		if got := client.Client.Timeout; got != want {
			t.Errorf("with a lease of %s a request may take %s, want %s", lease, got, want)
		}
	}
}
