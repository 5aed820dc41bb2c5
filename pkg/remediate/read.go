package remediate

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/apierror"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/revert"
	"github.com/rancher/helm-locker/pkg/watch"
)

// reader reads objects of unknown state from the API server.
type reader struct{ *Options }

// manyGets is the number of objects of one kind in one namespace from which on a list replaces the gets. A list also
// returns the objects of other releases, so it only pays for a release that is large by itself.
const manyGets = 64

// getUnknown gets the objects of unknown state and clears their NeedsGet. After an error, it completes the object with
// the problem. It leaves large objects to processLarge.
func (rd *reader) getUnknown(ctx context.Context, l *lock.Lock, work []*lock.Work) {
	type group struct {
		gvk       schema.GroupVersionKind
		namespace string
	}
	groups := map[group][]*lock.Work{}
	for _, w := range work {
		if w.NeedsGet {
			g := group{w.GVK, w.ID.Namespace}
			groups[g] = append(groups[g], w)
		}
	}
	var wait sync.WaitGroup
	for _, members := range groups {
		if len(members) >= manyGets {
			rd.observeByList(ctx, l, members)
		}
		for _, w := range members {
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
	}
	wait.Wait()
}

// observeByList reads objects of one kind in one namespace by one list. Objects absent from the list, and large ones,
// are read one by one.
func (rd *reader) observeByList(ctx context.Context, l *lock.Lock, members []*lock.Work) {
	named := make(map[string]*lock.Work, len(members))
	for _, w := range members {
		named[w.ID.Name] = w
	}
	kind := watch.Kind{GVR: members[0].GVR, Namespaced: members[0].Namespaced}
	err := rd.Objects.List(ctx, kind, members[0].ID.Namespace, func(obj *watch.Live) {
		w := named[obj.Name]
		if w == nil {
			return
		}
		if obj.Large() {
			w.Large = true
			return
		}
		if live, err := obj.Decode(); err == nil {
			rd.seen(w, live)
		}
	})
	if err != nil {
		rd.Log.Debugf("list objects of release %s: %v; reading each object", l.Release, err)
	}
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

// seen records the result of a get. The time of the first get that showed drift stays.
func (rd *reader) seen(w *lock.Work, live *unstructured.Unstructured) {
	first, last := w.Seen, w.Last
	if live == nil {
		w.Observation = lock.Observation{Last: last, Seen: first}
		return
	}
	w.Observation = rd.observation(live)
	w.Last, w.Seen = last, first
}

// observation is the state of an existing object.
func (rd *reader) observation(obj *unstructured.Unstructured) lock.Observation {
	return lock.Observation{Live: obj, Large: watch.IsLarge(obj), Version: watch.Version(obj),
		Digest: rd.Hasher.Digest(obj.Object), Seen: rd.Clock.Now()}
}
