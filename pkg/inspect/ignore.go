package inspect

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/rules"
)

// strict returns the rules of a strict comparison of an object; nil where none was asked for.
func (c *comparer) strict(live *unstructured.Unstructured, owner drift.Owner, matcher *rules.Matcher) *drift.Strict {
	if !c.options.Strict {
		return nil
	}
	return &drift.Strict{ManagedFields: live.GetManagedFields(), Helm: owner, Keep: matcher.Keeps}
}

// either ignores what one of two functions ignores, of which any may be nil.
func either(a, b func([]string) bool) func([]string) bool {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(path []string) bool { return a(path) || b(path) }
}

// autoscaled returns what of an object an autoscaler, of the release or a live one, leaves to compare: a replica
// count within its range is ignored, and from outside of it the operator goes back to the range and not to the
// declared count.
func (c *comparer) autoscaled(ctx context.Context, o manifest.Object, live *unstructured.Unstructured,
	replicas *lock.Range) (
	desired map[string]any, ignore func([]string) bool) {
	declared, found, err := unstructured.NestedInt64(o.Content, "spec", "replicas")
	if !found || err != nil {
		return o.Content, nil
	}
	count, found, err := unstructured.NestedInt64(live.Object, "spec", "replicas")
	if !found || err != nil || count == declared {
		return o.Content, nil
	}
	var scalers lock.Autoscalers
	for _, autoscaler := range c.source.Autoscalers(ctx, o.ID.Namespace) {
		scalers.Set(autoscaler)
	}
	if replicas == nil {
		replicas = scalers.Range(o.ID)
	}
	switch {
	case replicas == nil || replicas.Min > replicas.Max:
		return o.Content, nil
	case replicas.Contains(count):
		return o.Content, func(path []string) bool {
			return len(path) == 2 && path[0] == "spec" &&
				path[1] == "replicas"
		}
	}
	return lock.WithReplicas(o.Content, replicas.Within(count, nil, scalers.Wanted(o.ID))), nil
}
