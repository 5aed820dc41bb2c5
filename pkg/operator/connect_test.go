package operator

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
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

// oldServer tells its version, or why it does not.
type oldServer struct {
	version string
	err     error
}

func (s oldServer) ServerVersion() (*version.Info, error) {
	return &version.Info{GitVersion: s.version}, s.err
}

func TestTheVersionOfTheAPIServerDecidesHowChecksAreMade(t *testing.T) {
	for want, servers := range map[bool][]oldServer{
		true:  {{version: "v1.30.4"}},
		false: {{version: "v1.33.0"}, {version: "v1.30.4", err: errors.New("no answer")}},
	} {
		for _, server := range servers {
			if got := listsReadStorage(server, quiet()); got != want {
				t.Errorf("%+v: %t", server, got)
			}
		}
	}
}
