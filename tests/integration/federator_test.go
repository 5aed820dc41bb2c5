package integration

import (
	"fmt"
	"testing"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// A program that embeds the operator, such as Prometheus Federator, has its releases locked by an external one under
// that one's controller name, and by its embedded one under its own name again.
func TestFederator_ReleasesFollowTheControllerName(t *testing.T) {
	t.Parallel()
	e := kit.New(t, kit.Shared)
	const embedded, external = "prometheus-federator", "external-locker"
	proxies := map[string]*cluster.Proxy{}
	for _, name := range []string{embedded, external} {
		proxies[name] = e.NewProxy()
		kit.StartOperator(t, proxies[name].RESTConfig(), e.Operator,
			func(o *operator.ControllerOptions) { o.ControllerName = name })
	}
	e.Helm(kit.Shared.Helm4(), "install", "app", e.Chart("app", kit.ConfigMap("app", "declared")))
	for i, name := range []string{external, embedded} {
		if i == 0 {
			e.CreateHelmRelease("app", func(hr *v1alpha1.HelmRelease) {
				hr.Annotations = map[string]string{v1alpha1.ManagedByAnnotation: name}
			})
		} else {
			e.PatchHelmRelease("app", fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.ManagedByAnnotation, name))
		}
		for _, proxy := range proxies {
			proxy.Reset()
		}
		e.Patch(kit.ConfigMaps, "app", `{"data":{"key":"tampered"}}`)
		e.WaitField(kit.ConfigMaps, "app", "data.key", "declared")
		e.WaitReady("app", 1)
		if i == 0 && len(kit.ObjectWrites(proxies[embedded])) > 0 {
			t.Error("the embedded operator writes to a release of another controller name")
		}
		// A revert by the former operator may still be on its way once the name has changed.
		e.Until(name+" reverts", func() (any, bool) {
			e.Patch(kit.ConfigMaps, "app", `{"data":{"key":"tampered again"}}`)
			e.WaitField(kit.ConfigMaps, "app", "data.key", "declared")
			writes := kit.ObjectWrites(proxies[name])
			return writes, len(writes) > 0
		})
	}
}
