package operator

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
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
