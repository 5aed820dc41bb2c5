package tenancy

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
	"github.com/rancher/helm-locker/tests/lib/process"
)

// I12: users of several namespaces change objects of the maximum size at once, with reviews of 12 MiB, or objects
// with the maximum number of values: the guard answers within the operator's memory limit.
func TestI12_ReviewsDoNotExhaustTheMemoryOfTheOperator(t *testing.T) {
	const namespaces, objects = 3, 3
	e := kit.New(t, kit.Shared)
	address, err := process.FreeAddress()
	check.NoError(t, err)
	operator := startProcess(e, "--guard-address", address, "--guard-url", "https://"+address)
	escaped := fmt.Appendf(nil, `{"data":{"key":"tampered","pad":"%s"}}`, strings.Repeat("<", 1000<<10))
	var values strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&values, `,"k%d":""`, i)
	}
	many := []byte(`{"data":{"key":"tampered"` + values.String() + `}}`)
	var tenants []*kit.Env
	for n := range namespaces {
		tenant := *e
		tenant.Apps = e.Namespace(fmt.Sprintf("%s-%d", e.Apps, n))
		var manifest strings.Builder
		for i := range objects {
			manifest.WriteString(kit.ConfigMap(fmt.Sprintf("large-%d", i), "declared"))
		}
		tenant.Forge(kit.ForgedRecord{Name: "large", Manifest: manifest.String()})
		name := fmt.Sprintf("large-%d", n)
		tenant.CreateHelmRelease(name, func(hr *v1alpha1.HelmRelease) {
			hr.Spec.Release, hr.Spec.Guard = v1alpha1.ReleaseReference{Namespace: tenant.Apps, Name: "large"},
				v1alpha1.GuardDeny
		})
		tenant.WaitReady(name, 1)
		tenant.WaitReason(name, v1alpha1.ConditionGuarded, v1alpha1.ReasonGuarded)
		tenants = append(tenants, &tenant)
	}
	var flood sync.WaitGroup
	for _, tenant := range tenants {
		for i := range objects {
			flood.Go(func() {
				for _, patch := range [][]byte{escaped, many} {
					// It is refused, or passes when the machine takes too long for it.
					_, _ = tenant.In(kit.ConfigMaps, tenant.Apps).Patch(t.Context(), fmt.Sprintf("large-%d", i),
						types.MergePatchType, patch, metav1.PatchOptions{})
				}
			})
		}
	}
	flood.Wait()
	for _, tenant := range tenants {
		for i := range objects {
			tenant.WaitField(kit.ConfigMaps, fmt.Sprintf("large-%d", i), "data.key", "declared")
		}
	}
	check.Must(t, operator.Running(), "the operator is dead")
	memory, err := operator.Memory()
	check.NoError(t, err)
	most := memory.Most - memory.Program
	t.Logf("at most %d MiB; now %d MiB", most>>20, memory.Own()>>20)
	check.That(t, most <= memoryLimit, "the operator took %d MiB, more than %d", most>>20, memoryLimit>>20)
}
