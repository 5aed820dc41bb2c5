package controller

import (
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sirupsen/logrus"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/watch"
)

// observer is the watch.Sink. It only compares digests and enqueues.
type observer struct {
	*common
	hasher drift.Hasher
}

// Observed handles a state delivered by a watch. An object without a lock costs a map look-up and a reading of its
// annotations; an object with known content costs a digest. Only the others are decoded.
func (ob *observer) Observed(gvk schema.GroupVersionKind, obj *watch.Live) {
	id := watch.IDOf(gvk, obj)
	l := ob.table.Owner(gvk, id)
	if l == nil {
		ob.unmanaged(id, obj, true)
		return
	}
	ob.trace("observed", id, obj)
	o := lock.Observation{Version: version(obj), Seen: ob.Clock.Now()}
	var err error
	if o.Digest, err = obj.Digest(ob.hasher); err == nil {
		if l.Known(id, o.Version, o.Digest) {
			return
		}
		if obj.Large() {
			o.Large, o.NeedsGet = true, true
		} else {
			o.Live, err = obj.Decode()
		}
	}
	if err != nil {
		ob.Log.WithField("object", id.String()).Warnf("a watch delivered what cannot be read; looking at it: %v", err)
		o.NeedsGet = true
	}
	if l.Observe(id, o) {
		ob.queues.drift.Add(l.Key)
	}
}

// Gone handles a deletion, or the loss of Helm's label. Both look the same to a watch.
func (ob *observer) Gone(gvk schema.GroupVersionKind, obj *watch.Live) {
	id := watch.IDOf(gvk, obj)
	l := ob.table.Owner(gvk, id)
	if l == nil {
		ob.unmanaged(id, obj, false)
		return
	}
	ob.trace("gone", id, obj)
	last, err := obj.Decode()
	if err != nil {
		ob.Log.WithField("object", id.String()).Warnf("the last known state cannot be read: %v", err)
	}
	if obj.Large() {
		last = lock.Essence(last)
	}
	// Most of these objects were deleted, so they are not read before they are re-created: a creation changes nothing
	// of an existing object, and after its failure there is time to read. An object that is not re-created, or not yet,
	// must not be taken for deleted.
	locked, _ := l.Peek(id)
	look := l.Detect || locked.Object != nil && judge.MayStayAway(id, locked.Rules)
	o := lock.Observation{Last: last, NeedsGet: look, ReportedGone: !look, Version: version(obj), Seen: ob.Clock.Now()}
	if l.Observe(id, o) {
		ob.queues.drift.Add(l.Key)
	}
}

// trace logs an event about a locked object.
func (ob *observer) trace(what string, id manifest.ID, obj *watch.Live) {
	if ob.tracing {
		ob.Log.WithFields(logrus.Fields{"object": id.String(), "version": obj.ResourceVersion}).Trace(what)
	}
}

// unmanaged records an object outside of any lock, if it claims to belong to a locked release.
func (ob *observer) unmanaged(id manifest.ID, obj *watch.Live, exists bool) {
	if l := ob.table.Of(judge.ClaimedBy(obj)); l != nil && l.SetUnmanaged(id, exists) {
		ob.statusChanged(l.Key)
	}
}

// Listed enqueues a read of the objects absent from a full list of their kind.
func (ob *observer) Listed(gvk schema.GroupVersionKind, present func(manifest.ID) bool) {
	for _, l := range ob.table.Locks() {
		awaited := l.Unmanaged.AwaitsList()
		if awaited {
			l.Unmanaged.ListEnded(gvk)
		}
		if awaited || l.Doubt != "" { // the watch may have failed until now, and reviewDoubt waited for it
			ob.queues.pruning.Add(l.Key)
		}
		wake := l.Recheck(ob.Clock.Now(), func(o *lock.Object) bool {
			return o.GVK == gvk && !present(o.ID)
		})
		if wake {
			ob.queues.drift.Add(l.Key)
		}
	}
}

// Rewound forgets the observed versions of the objects of a kind: the next ones are lower.
func (ob *observer) Rewound(gvk schema.GroupVersionKind) {
	for _, l := range ob.table.Locks() {
		l.Rewind(gvk)
	}
}

// Troubled enqueues the statuses that depend on a watch after it has failed or works again.
func (ob *observer) Troubled(gvk schema.GroupVersionKind) {
	ob.entries.each(func(key string, e *entry) {
		if slices.Contains(e.kinds, gvk) {
			ob.statusChanged(key)
		}
	})
}

// version returns the resource version as a number, as Kubernetes defines it since 1.35. It is zero for the few
// aggregated API servers with other versions: their objects are judged in any order.
func version(obj metav1.Object) uint64 {
	n, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
