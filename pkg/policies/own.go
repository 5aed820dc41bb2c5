package policies

import (
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
)

// ownWrites are this operator's recent writes. A plan made before the cache shows them would repeat them, and a
// rollout would move more than a batch. It is safe for concurrent use.
type ownWrites struct {
	releases written[*v1alpha1.HelmRelease]
	policies written[*v1alpha1.HelmReleasePolicy]

	mu sync.Mutex
	// kept are HelmReleases that the API server stores in another form than the written one.
	kept map[types.UID]kept
}

// kept is the desired and the stored form.
type kept struct{ desired, became *v1alpha1.HelmRelease }

// alike reports whether two HelmReleases have the same fields of a policy.
func alike(a, b *v1alpha1.HelmRelease) bool {
	return equality.Semantic.DeepEqual(a.Spec, b.Spec) && equality.Semantic.DeepEqual(a.Labels, b.Labels)
}

// unseenUntil returns the time of the next plan for a write that was not observed by then; zero for never.
func (w *ownWrites) unseenUntil() time.Time {
	return earlier(w.releases.unseenUntil(), w.policies.unseenUntil())
}

// refuse records that the API server stored desired as written.
func (w *ownWrites) refuse(written, desired *v1alpha1.HelmRelease) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.kept == nil {
		w.kept = map[types.UID]kept{}
	}
	w.kept[written.UID] = kept{desired, written}
}

// refused reports whether desired would become existing again.
func (w *ownWrites) refused(existing, desired *v1alpha1.HelmRelease) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	k, found := w.kept[existing.UID]
	if found && alike(k.desired, desired) && alike(k.became, existing) {
		return true
	}
	delete(w.kept, existing.UID)
	return false
}

// tryAgain forgets the refused forms: another definition may keep them.
func (w *ownWrites) tryAgain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.kept)
}

// written are objects of one kind as this operator wrote them, until the cache shows them. It is safe for concurrent
// use; the zero value is empty.
type written[T metav1.Object] struct {
	mu    sync.Mutex
	of    map[string]T // by name
	since map[string]time.Time
	// writing are the names of objects being written, and not deleted meanwhile.
	writing map[string]struct{}
}

// unseenFor is the time for which an object written by this operator may be absent from the cache before it counts as
// deleted: a deletion hidden by a gap of the watch has no event.
const unseenFor = 30 * time.Second

// write makes a request that writes an object of a name, and records the API server's answer. It does not if the
// cache saw the deletion of an object of that name meanwhile: it may have been this one, without another event.
func (w *written[T]) write(name string, now clock.PassiveClock, request func() (T, error)) (T, error) {
	w.begin(name)
	obj, err := request()
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, there := w.writing[name]; there && err == nil {
		w.of[name], w.since[name] = obj, now.Now()
	}
	delete(w.writing, name)
	return obj, err
}

func (w *written[T]) begin(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil {
		w.of, w.since, w.writing = map[string]T{}, map[string]time.Time{}, map[string]struct{}{}
	}
	w.writing[name] = struct{}{}
}

// gone is called for an object whose deletion the cache has seen.
func (w *written[T]) gone(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.writing, name)
	w.forget(name)
}

// newest returns the objects of a cache, with this operator's writes where the cache does not show them yet. An
// object never seen in the cache, and still missing after a while, was deleted.
func (w *written[T]) newest(cached []T, now time.Time) []T {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make([]T, 0, len(cached))
	for _, obj := range cached {
		own, ok := w.of[obj.GetName()]
		if ok && own.GetUID() == obj.GetUID() && resourceVersion(own) > resourceVersion(obj) {
			all = append(all, own)
			delete(w.since, obj.GetName()) // its event will come
			continue
		}
		w.forget(obj.GetName())
		all = append(all, obj)
	}
	for name, own := range w.of {
		written, unseen := w.since[name]
		if !unseen {
			continue
		}
		if now.Sub(written) >= unseenFor {
			w.forget(name)
			continue
		}
		all = append(all, own)
	}
	return all
}

// unseenUntil returns the time at which the first object never seen in the cache counts as deleted; zero for never.
func (w *written[T]) unseenUntil() (first time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, written := range w.since {
		first = earlier(first, written.Add(unseenFor))
	}
	return first
}

// resourceVersion returns how new an object is; 0 when its resourceVersion is no number.
func resourceVersion(obj metav1.Object) uint64 {
	n, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// forget is called with w.mu held.
func (w *written[T]) forget(name string) {
	delete(w.of, name)
	delete(w.since, name)
}

// earlier returns the earlier of two times; zero is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
