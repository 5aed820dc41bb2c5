package locking

import (
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
)

// trusting returns the objects whose number of replicas an object of the lock may set.
func (o *Options) trusting(l *lock.Lock) []manifest.ID {
	return o.Inputs.Scalers.Known().Trusting(func(id manifest.ID) bool { return o.Table.Holder(id) == l })
}

// RangesChanged enqueues the objects after a change of their autoscaler's range.
func (o *Options) RangesChanged(ids []manifest.ID) {
	for _, id := range ids {
		l := o.Table.Holder(id)
		if l == nil {
			continue
		}
		if l.Recheck(o.Clock.Now(), func(o *lock.Object) bool { return o.ID == id }) {
			o.Queues.Drift.Add(l.Key)
		}
		o.Queues.StatusChanged(l.Key)
	}
}
