package controller

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/rules"
)

// scaled returns the part of an object that a Scale represents: the number of replicas, at its path in the object. A
// Scale leaves the number out when it is zero.
func scaled(scale *unstructured.Unstructured, path []string) (*unstructured.Unstructured, error) {
	n, _, err := unstructured.NestedInt64(scale.Object, "spec", "replicas")
	if err != nil {
		return nil, fmt.Errorf("read the Scale: %w", err)
	}
	unstructured.RemoveNestedField(scale.Object, "spec")
	return scale, unstructured.SetNestedField(scale.Object, n, path...)
}

// trusts returns a function that reports whether an object without a range of its own, such as a Rollout, may set the
// number of replicas of target. It may if the manifest of a locked release has it do so, or one of the rules for the
// release of target names it. Its own reference does not count, as any user may create it.
func (c *common) trusts(ignore *rules.Rules, target manifest.ID) func(scaler manifest.ID) bool {
	return func(scaler manifest.ID) bool {
		if holder := c.table.Holder(scaler); holder != nil {
			if w, owned := holder.Peek(scaler); owned && !judge.IgnoresRange(scaler, w.Rules) {
				declared, err := decode(w.Desired)
				return err == nil && judge.Names(scaler, declared, target)
			}
		}
		return ignore.Names(manifest.Object{ID: scaler, GVK: judge.KindOf(scaler)})
	}
}

// trusting returns the objects whose number of replicas an object of the lock may set.
func (c *common) trusting(l *lock.Lock) []manifest.ID {
	return c.scalers.Known().Trusting(func(id manifest.ID) bool { return c.table.Holder(id) == l })
}

// rangesChanged enqueues the objects after a change of their autoscaler's range.
func (c *common) rangesChanged(ids []manifest.ID) {
	for _, id := range ids {
		l := c.table.Holder(id)
		if l == nil {
			continue
		}
		if l.Recheck(c.Clock.Now(), func(o *lock.Object) bool { return o.ID == id }) {
			c.queues.drift.Add(l.Key)
		}
		c.statusChanged(l.Key)
	}
}
