package inspect

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
)

// object compares one object and records the result.
func (c *comparer) object(ctx context.Context, o manifest.Object, replicas *lock.Range) {
	difference, left, local, err := c.compare(ctx, o, replicas)
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
	if local != "" {
		c.Local = local
	}
	if left != "" {
		c.Left = append(c.Left, o.ID.String()+": "+left)
	}
	if difference != nil {
		c.differs(difference)
	}
}

func (c *comparer) compare(
	ctx context.Context, o manifest.Object, replicas *lock.Range,
) (d *Difference, left, local string, err error) {
	for range attempts {
		if d, left, local, err = c.compareOnce(ctx, o, replicas); !errors.Is(err, errChanged) {
			break
		}
	}
	return d, left, local, err
}

func (c *comparer) compareOnce(
	ctx context.Context, o manifest.Object, replicas *lock.Range,
) (d *Difference, left, local string, err error) {
	matcher := c.options.Rules.For(o)
	if matcher.Whole() {
		return nil, "an ignore rule of the HelmRelease exempts it", "", nil
	}
	if reserved := (lock.Own{}).Reserved(o); reserved != "" {
		return nil, reserved, "", nil
	}
	target := &lock.Object{
		ID: o.ID, Kind: &lock.Kind{GVK: o.GVK, Namespaced: o.ID.Namespace != ""}, Keep: o.Keep, Replicas: replicas,
		Scalable: lock.Scalable(o),
		Account:  c.options.Account,
	}
	live, err := c.source.Look(ctx, target)
	if err != nil {
		return nil, "", "", err
	}
	c.secrets.add(live)
	if live == nil {
		if o.ID.Group == "batch" && o.ID.Kind == "Job" {
			return nil, "it is gone, and a Job that has run is not run again", "", nil
		}
		return &Difference{ID: o.ID, State: StateMissing, Want: o.Content}, "", "", nil
	}
	if d = deletionOf(live, o.ID); d != nil {
		o.Content = drift.WithoutDoneFinalizers(o.Content, live)
		d.Want, d.Have = live.Object, live.Object
	}
	var chosen func([]string) bool
	o.Content, chosen = c.autoscaled(ctx, o, live, replicas)
	owner := drift.ManagedBy(live.GetManagedFields())
	if !owner.Known && c.serverSide {
		owner.Operation = metav1.ManagedFieldsOperationApply
	}
	options := drift.Options{Schema: c.schemas.For(o.GVK), Strict: c.strict(live, owner, matcher)}
	ignored := matcher.Bind(drift.NewOwnership(live.GetManagedFields(), o.Content, live.Object))
	options.Ignore = either(ignored, chosen)
	found := drift.Compare(o.Content, live.Object, options)
	if len(found.Changes) == 0 {
		return d, "", "", nil
	}
	want := found.Target
	after, local, err := c.source.Settle(ctx, &enforce.Revert{
		Object: target, Desired: o.Content, Live: live, Target: found.Target, RemovesForeign: found.RemovesForeign,
		Owner:   owner,
		Options: options, Owned: owner.Applied(live.GetManagedFields(), o.Content, live.Object),
	})
	if err != nil {
		return nil, "", "", err
	}
	if after != nil {
		// What is different even after the release was applied is the form that the API server gives to it.
		learning := options
		learning.Strict = c.strict(after, owner, matcher)
		options.Accepted = drift.Learn(o.Content, after.Object, learning)
		found = drift.Compare(o.Content, live.Object, options)
		if len(found.Changes) == 0 {
			return d, "", "", nil
		}
		want = after.Object
	}
	if d == nil {
		d = &Difference{ID: o.ID, State: StateModified}
	}
	d.Want, d.Have = want, live.Object
	for i, change := range found.Changes {
		author := drift.Attribute(live.GetManagedFields(), o.Content, live.Object, found.Changes[i:i+1], owner)
		d.Changes = append(d.Changes, Change{Change: change, Author: author})
	}
	return d, "", local, nil
}

// deletionOf returns the difference of an object whose deletion is pending, without its content; nil for any other.
func deletionOf(live *unstructured.Unstructured, id manifest.ID) *Difference {
	note := drift.DescribeDeletion(live)
	if note == "" {
		return nil
	}
	return &Difference{ID: id, State: StateDeleting, Note: note}
}
