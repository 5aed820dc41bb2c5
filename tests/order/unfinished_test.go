package order

import (
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// A revert of an object applied by Helm 4 takes up to three requests. If one of them fails, the next upgrade still
// meets no conflict.

// inParts are tamperings whose reverts take several requests: two for objects applied as a whole, three for the
// others.
func inParts() []tampering {
	return []tampering{
		patching("renamed port", kit.Services, `[{"op":"replace","path":"/spec/ports/0/port","value":81}]`),
		patching("renamed variable", kit.Deployments,
			`[{"op":"replace","path":"/spec/template/spec/containers/0/env/0/name","value":"EVIL"}]`),
		{"applied as a whole", kit.ConfigMaps, appliedAsAWhole},
		deleting(kit.Services),
	}
}

// appliedAsAWhole applies an edited output of helm get manifest, as a user does: one value differs.
func appliedAsAWhole(b *fixture) {
	live := b.Get(kit.ConfigMaps, "app")
	check.NoError(b, unstructured.SetNestedField(live.Object, "tampered", "data", "value"))
	live.Object["metadata"] = map[string]any{"name": "app", "labels": kit.Field(live, "metadata.labels"),
		"annotations": kit.Field(live, "metadata.annotations")}
	b.applies(live.Object)
}

func TestHostile_ARequestOfARevertFailsOnce(t *testing.T) {
	failures := []cluster.Action{
		cluster.Fail(http.StatusServiceUnavailable, "on purpose"),
		cluster.Fail(http.StatusForbidden, "on purpose"),
		{Drop: true},
	}
	for _, tampering := range inParts() {
		for i, failure := range failures {
			t.Run(fmt.Sprintf("%s/request %d", tampering.name, i+1), func(t *testing.T) {
				b := newFixture(t)
				chart := b.Chart("app", everyField)
				b.Helm(kit.Shared.Helm4(), "install", "app", chart, "--set", valuesBefore)
				b.Lock("app")
				var requests atomic.Int32
				b.Proxy.Intercept(func(r *http.Request) cluster.Action {
					if isRevert(tampering.resource.Resource, http.MethodPatch)(r) && int(requests.Add(1)) == i+1 {
						return failure
					}
					return cluster.Forward()
				})
				tampering.do(b)
				b.completed(tampering.resource, chart)
			})
		}
	}
}

// completed waits until an object is as Helm left it, and has Helm change all of it.
func (b *fixture) completed(gvr schema.GroupVersionResource, chart string) {
	b.Helper()
	b.Eventually("Helm alone owns "+gvr.Resource, func() error {
		var owners []string
		if live := b.Get(gvr, "app"); live != nil {
			for _, entry := range live.GetManagedFields() {
				owners = append(owners, fmt.Sprintf("%s %s", entry.Manager, entry.Operation))
			}
		}
		if !slices.Equal(owners, []string{"helm Apply"}) {
			return fmt.Errorf("its owners are %q; writes: %v", owners, b.writes())
		}
		return nil
	})
	b.WaitReady("app", 1)
	b.Helm(kit.Shared.Helm4(), "upgrade", "app", chart, "--set", valuesAfter)
	b.WaitReady("app", 2)
	b.wantAfter()
}

// The operator dies between two requests of a revert: nothing of it gets through any more. Another one completes it.
func TestHostile_AnOperatorDiesWithinARevert(t *testing.T) {
	for _, tampering := range inParts() {
		for part := int32(1); part <= 2; part++ {
			if part == 2 && tampering.name == "applied as a whole" {
				continue // that is all of it
			}
			t.Run(fmt.Sprintf("%s/after request %d", tampering.name, part), func(t *testing.T) {
				b := newFixture(t)
				chart := b.Chart("app", everyField)
				b.Helm(kit.Shared.Helm4(), "install", "app", chart, "--set", valuesBefore)
				b.Lock("app")
				var requests atomic.Int32
				died := make(chan struct{})
				b.Proxy.Intercept(func(r *http.Request) cluster.Action {
					if !isRevert(tampering.resource.Resource, r.Method)(r) || !cluster.IsWrite(r) {
						return cluster.Forward()
					}
					switch n := requests.Add(1); {
					case n <= part:
						return cluster.Forward()
					case n == part+1:
						close(died)
					}
					return cluster.Action{Drop: true}
				})
				tampering.do(b)
				select {
				case <-died:
				case <-b.Ctx.Done():
					t.Fatal("the revert has fewer requests")
				}
				b.Running.Stop()
				next := b.NewProxy()
				kit.StartOperator(t, next.RESTConfig(), b.Operator,
					func(o *operator.ControllerOptions) { o.SkipCRD = true })
				b.completed(tampering.resource, chart)
			})
		}
	}
}
