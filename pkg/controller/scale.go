package controller

import (
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
)

// trusting returns the objects whose number of replicas an object of the lock may set.
func (c *common) trusting(l *lock.Lock) []manifest.ID {
	return c.inputs.Scalers.Known().Trusting(func(id manifest.ID) bool { return c.table.Holder(id) == l })
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
