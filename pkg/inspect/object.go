package inspect

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/revert"
	"github.com/rancher/helm-locker/pkg/salvage"
)

// object compares one object and records the result.
func (c *comparer) object(ctx context.Context, o *judge.Object) {
	found, err := c.compare(ctx, o)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done++
	if c.options.Progress != nil {
		c.options.Progress(c.done, c.all)
	}
	if err != nil {
		c.Failures = append(c.Failures, Failure{ID: o.ID, Err: err})
		return
	}
	c.Compared++
	if found.local != "" {
		c.Local = found.local
	}
	if found.left != "" {
		c.Left = append(c.Left, o.ID.String()+": "+found.left)
	}
	if found.additions {
		c.Additions++
	}
	if found.difference != nil {
		c.differs(found.difference)
	}
}

func (c *comparer) compare(ctx context.Context, o *judge.Object) (found answer, err error) {
	for range attempts {
		if found, err = c.compareOnce(ctx, o); !errors.Is(err, errChanged) {
			break
		}
	}
	return found, err
}

func (c *comparer) compareOnce(ctx context.Context, o *judge.Object) (answer, error) {
	target := &lock.Object{
		ID: o.ID, Kind: &lock.Kind{GVK: o.GVK, Namespaced: o.ID.Namespace != ""}, Keep: o.Keep,
		Account: c.options.Account,
	}
	live, err := c.source.Get(ctx, target)
	if err != nil {
		return answer{}, err
	}
	c.secrets.add(live)
	in := c.input(ctx, o, live)
	found := judge.Judge(in)
	if found.State != judge.Unclear {
		return c.answer(ctx, in, found), nil
	}
	update := func(found judge.Result) *enforce.Revert { return revert.Update(target, live, found, nil) }
	after, local, err := c.source.DryRun(ctx, update(found))
	if salvage.RefusesContent(err) {
		return c.salvaged(ctx, in, found, update, err)
	}
	if err != nil {
		return answer{}, err
	}
	if after != nil {
		found = in.Unsettled(found).AfterDryRun(after)
	} else {
		found = in.Unsettled(found).Locally()
	}
	a := c.answer(ctx, in, found)
	if a.difference != nil {
		a.local = local
		if after != nil && len(a.difference.Changes) > 0 {
			a.difference.Want = after.Object
		}
	}
	return a, nil
}

// input gathers the input for judging an object.
func (c *comparer) input(ctx context.Context, o *judge.Object, live *unstructured.Unstructured) judge.Input {
	in := judge.Input{
		ID: o.ID, Release: c.Release.Key, Desired: o.Content, Blank: o.Blank, Live: live, Rules: o.Rules,
		Schema: c.schemaOf(ctx, o.GVK), Strict: c.options.Strict, Replicas: o.Replicas, First: true,
		ServerSide: c.Release.ApplyMethod == release.ApplyMethodServerSide && !c.withoutOwners(live),
	}
	in.Scalable = judge.Scalable(o.Content, in.Schema)
	if live == nil || !in.Scalable || !replicasDiffer(o.Content, live.Object, in.Schema.Replicas()) {
		return in // no autoscaler matters
	}
	var scalers judge.Autoscalers
	for _, autoscaler := range c.source.Autoscalers(ctx, o.ID.Namespace) {
		scalers.Set(autoscaler)
	}
	return in.Scaled(&scalers, func(scaler manifest.ID) bool {
		return c.options.Rules.Names(manifest.Object{ID: scaler, GVK: judge.KindOf(scaler)})
	})
}

// withoutOwners reports whether the owners of an object are not known: kubectl leaves them out of the objects that it
// prints.
func (c *comparer) withoutOwners(live *unstructured.Unstructured) bool {
	_, saved := c.source.(*Dump)
	return saved && live != nil && len(live.GetManagedFields()) == 0
}

func replicasDiffer(a, b map[string]any, path []string) bool {
	x, _, errX := unstructured.NestedInt64(a, path...)
	y, _, errY := unstructured.NestedInt64(b, path...)
	return errX != nil || errY != nil || x != y
}

// schemaOf returns how objects of a kind are compared.
func (c *comparer) schemaOf(ctx context.Context, gvk schema.GroupVersionKind) drift.Schema {
	if c.schemas.Knows(gvk) {
		return c.schemas.For(gvk)
	}
	c.mu.Lock()
	known, found := c.custom[gvk]
	c.mu.Unlock()
	if found {
		return known
	}
	compiled, err := c.schemas.ForDefinition(c.source.Definition(ctx, gvk), gvk.Version)
	if err != nil {
		compiled = c.schemas.For(gvk)
	}
	c.mu.Lock()
	c.custom[gvk] = compiled
	c.mu.Unlock()
	return compiled
}
