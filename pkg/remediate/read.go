package remediate

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/apierror"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/revert"
	"github.com/rancher/helm-locker/pkg/watch"
)

// reader reads objects of unknown state from the API server.
type reader struct{ *Options }

// getUnknown gets the objects of unknown state and clears their NeedsGet. After an error, it completes the object with
// the problem. It leaves large objects to processLarge.
func (rd *reader) getUnknown(ctx context.Context, l *lock.Lock, work []*lock.Work) {
	var wait sync.WaitGroup
	for _, w := range work {
		if !w.NeedsGet || w.Large {
			continue
		}
		rd.Slots.Parallel(ctx, l.Release, &wait, func() {
			rd.observeOne(ctx, l, w)
			if w.Large && !w.NeedsGet { // it may be one of many
				w.Observation = lock.Observation{Large: true, NeedsGet: true, Last: w.Last, Seen: w.Seen}
			}
		})
	}
	wait.Wait()
}

func (rd *reader) observeOne(ctx context.Context, l *lock.Lock, w *lock.Work) {
	live, err := rd.Enforcer.Get(ctx, revert.Object(w.Object))
	if err != nil {
		again := w.Observation
		rd.complete(l, w, lock.Outcome{Again: &again, Failed: true, Transient: apierror.Transient(err),
			Problem: problemOf(w.ID, err, false)})
		return
	}
	rd.seen(w, live)
}

// seen records the result of a get. The time of the first get that showed drift stays, but content beside a refused one
// has a time of its own.
func (rd *reader) seen(w *lock.Work, live *unstructured.Unstructured) {
	first, last := w.Seen, w.Last
	if live == nil {
		w.Observation = lock.Observation{Last: last, Seen: first}
		return
	}
	w.Observation = rd.observation(live)
	w.Last = last
	if w.Refusal == nil || w.Refusal.Content == w.Digest {
		w.Seen = first
	}
}

// observation is the state of an existing object.
func (rd *reader) observation(obj *unstructured.Unstructured) lock.Observation {
	return lock.Observation{Live: obj, Large: watch.IsLarge(obj), Version: watch.Version(obj),
		Digest: rd.Hasher.Digest(obj.Object), Seen: rd.Clock.Now()}
}
