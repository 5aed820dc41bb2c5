// Package observe compares the states that the watches deliver with the known ones, and enqueues the locks of others.
package observe

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/sirupsen/logrus"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/ledger"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/queues"
	"github.com/rancher/helm-locker/pkg/watch"
)

// Observer is the watch.Sink. It only compares digests and enqueues.
type Observer struct {
	Options
	// tracing is set at log level trace. It guards the tracing of watch events, because these are many.
	tracing bool
}

// Options configure an Observer.
type Options struct {
	Table  *lock.Table
	Ledger *ledger.Ledger
	Queues *queues.Queues
	// Hasher makes the digests of objects.
	Hasher drift.Hasher

	Clock clock.PassiveClock
	Log   logrus.FieldLogger
}

// New returns an Observer.
func New(o Options) *Observer {
	return &Observer{Options: o, tracing: o.Log.WithField("", nil).Logger.IsLevelEnabled(logrus.TraceLevel)}
}

// Observed handles a state delivered by a watch. An object without a lock costs a map look-up and a reading of its
// annotations; an object with known content costs a digest. Only the others are decoded.
func (ob *Observer) Observed(gvk schema.GroupVersionKind, obj *watch.Live) {
	id := watch.IDOf(gvk, obj)
	l := ob.Table.Owner(gvk, id)
	if l == nil {
		ob.Unmanaged(id, obj, true)
		return
	}
	ob.trace("observed", id, obj)
	o := lock.Observation{Version: watch.Version(obj), Seen: ob.Clock.Now()}
	var err error
	if o.Digest, err = obj.Digest(ob.Hasher); err == nil {
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
		ob.Queues.Drift.Add(l.Key)
	}
}

// Gone handles a deletion, or the loss of Helm's label. Both look the same to a watch.
func (ob *Observer) Gone(gvk schema.GroupVersionKind, obj *watch.Live) {
	id := watch.IDOf(gvk, obj)
	l := ob.Table.Owner(gvk, id)
	if l == nil {
		ob.Unmanaged(id, obj, false)
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
	o := lock.Observation{Last: last, NeedsGet: look, ReportedGone: !look, Version: watch.Version(obj),
		Seen: ob.Clock.Now()}
	if l.Observe(id, o) {
		ob.Queues.Drift.Add(l.Key)
	}
}

// trace logs an event about a locked object.
func (ob *Observer) trace(what string, id manifest.ID, obj *watch.Live) {
	if ob.tracing {
		ob.Log.WithFields(logrus.Fields{"object": id.String(), "version": obj.ResourceVersion}).Trace(what)
	}
}

// Unmanaged records an object outside of any lock, if it claims to belong to a locked release.
func (ob *Observer) Unmanaged(id manifest.ID, obj *watch.Live, exists bool) {
	if l := ob.Table.Of(judge.ClaimedBy(obj)); l != nil && l.SetUnmanaged(id, exists) {
		ob.Queues.StatusChanged(l.Key)
	}
}

// Listed enqueues a read of the objects absent from a full list of their kind.
func (ob *Observer) Listed(gvk schema.GroupVersionKind, present func(manifest.ID) bool) {
	for _, l := range ob.Table.Locks() {
		awaited := l.Unmanaged.AwaitsList()
		if awaited {
			l.Unmanaged.ListEnded(gvk)
		}
		if awaited || l.Doubt != "" { // the watch may have failed until now, and the doubt with it
			ob.Queues.Pruning.Add(l.Key)
		}
		wake := l.Recheck(ob.Clock.Now(), func(o *lock.Object) bool {
			return o.GVK == gvk && !present(o.ID)
		})
		if wake {
			ob.Queues.Drift.Add(l.Key)
		}
	}
}

// Rewound forgets the observed versions of the objects of a kind: the next ones are lower.
func (ob *Observer) Rewound(gvk schema.GroupVersionKind) {
	for _, l := range ob.Table.Locks() {
		l.Rewind(gvk)
	}
}

// Troubled enqueues the statuses that depend on a watch after it has failed or works again.
func (ob *Observer) Troubled(gvk schema.GroupVersionKind) {
	ob.Ledger.Each(func(key string, e *ledger.Entry) {
		if slices.Contains(e.Kinds, gvk) {
			ob.Queues.StatusChanged(key)
		}
	})
}
