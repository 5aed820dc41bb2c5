package locking

import (
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
)

// trusting returns the objects whose number of replicas an object of the lock may set.
func (lk *Locker) trusting(l *lock.Lock) []manifest.ID {
	return lk.Inputs.Scalers.Known().Trusting(func(id manifest.ID) bool { return lk.Table.Holder(id) == l })
}

// RangesChanged enqueues the objects after a change of their autoscaler's range.
func (lk *Locker) RangesChanged(ids []manifest.ID) {
	for _, id := range ids {
		l := lk.Table.Holder(id)
		if l == nil {
			continue
		}
		if l.Recheck(lk.Clock.Now(), func(o *lock.Object) bool { return o.ID == id }) {
			lk.Queues.Drift.Add(l.Key)
		}
		lk.Queues.StatusChanged(l.Key)
	}
}
