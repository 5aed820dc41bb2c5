package controller

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/guard"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/status"
	"github.com/rancher/helm-locker/pkg/trust"
)

// entry is the state of one HelmRelease beside its lock. entries guards it.
type entry struct {
	status.Facts
	bookkeeping
	as release.Key // what the objects said they belong to when the release was last locked
	// names is the release in the record's payload, if it is in another namespace; zero for none.
	names release.Key
	// refused is the record behind problem, if only another record ends the problem.
	refused release.Record
	// elsewhere is the result of a search for records in unread storages, at this generation of the HelmRelease; 0
	// before a search.
	elsewhere   lock.Elsewhere
	elsewhereAt int64
	// fresh is set if the newest record became deployed under the operator's eyes, until all its objects are judged.
	fresh bool
	// noticed is the last end of an ignore rule that was announced.
	noticed time.Time
	// reload requests a new lock for the same record.
	reload bool
	// stirred is set when a record of the release has changed, perhaps one that came and went unseen.
	stirred bool
	// asked is the number of repeated checks of Denials.
	asked int
	// candidates is the state of the search for prune candidates.
	candidates candidates

	history history
	// manager is Helm's field manager of the release by the objects of its last lock; empty when unknown.
	manager string
}

// bookkeeping are the facts about a release that a status does not show.
type bookkeeping struct {
	uid types.UID // of the HelmRelease
	// handled is set once the lock of the HelmRelease, or its absence, follows the spec of this generation.
	handled bool
	release release.Key
	// last is the newest record that was seen; zero for none.
	last  release.Record
	kinds []schema.GroupVersionKind
	// writtenBy is the last writer of a record, see Facts.Writer.
	writtenBy *trust.Writer
	// guarded describes the requests for the guard; nil for none.
	guarded *guard.Wanted
	// lockedAt is the beginning of the lock.
	lockedAt time.Time
}

// sees compares the newest record with that of before, and sets fresh. The first record after a start may have been
// deployed long ago.
func (e *entry) sees(rec release.Record, found bool) {
	same := found && e.Found && rec.UID == e.Record.UID
	if e.handled && !(same && e.Record.Status == rec.Status) {
		e.fresh = found && rec.Status == release.StatusDeployed
	}
}

// seen returns the newest record of a release, or if there is none now, the newest one that was seen; zero for none.
func (e *entry) seen(of release.Key, rec release.Record, found bool) release.Record {
	if found || e.release != of {
		e.last = rec
	}
	return e.last
}

// history remembers the newest drifts of a release.
type history struct {
	recent   []v1alpha1.DriftRecord // newest first
	reverted int                    // since the lock began
}

// add remembers the records of one drift.
func (h *history) add(records ...v1alpha1.DriftRecord) {
	h.recent = append(slices.Clone(records), h.recent...)
	if len(h.recent) > v1alpha1.MaxRecentDrift {
		h.recent = h.recent[:v1alpha1.MaxRecentDrift]
	}
	if restores(records[0].Action) {
		h.reverted++
	}
}

// addDenied records a denied request. It counts an equal request of the same user in the same record.
func (h *history) addDenied(r v1alpha1.DriftRecord) {
	same := slices.IndexFunc(h.recent, func(o v1alpha1.DriftRecord) bool {
		return o.Action == r.Action && o.Object == r.Object && o.User == r.User && slices.Equal(o.Paths, r.Paths)
	})
	if same >= 0 {
		r.Count = h.recent[same].Count + 1
		h.recent = slices.Delete(slices.Clone(h.recent), same, same+1)
	}
	h.add(r)
}

// seed copies the history of an earlier process from the status, once.
func (h *history) seed(recent []v1alpha1.DriftRecord) {
	if len(h.recent) == 0 {
		h.recent = append(h.recent, recent...)
	}
}

// entries is the state of the HelmReleases, by their keys. It is safe for concurrent use; the zero value is empty.
type entries struct {
	mu sync.Mutex
	of map[string]*entry
}

// update changes the entry of a HelmRelease, and reports whether there is one. It creates none: late work on a deleted
// HelmRelease must not bring it back.
func (es *entries) update(key string, change func(*entry)) bool {
	es.mu.Lock()
	defer es.mu.Unlock()
	e := es.of[key]
	if e != nil {
		change(e)
	}
	return e != nil
}

// each calls f for every entry. f must not use entries.
func (es *entries) each(f func(key string, e *entry)) {
	es.mu.Lock()
	defer es.mu.Unlock()
	for key, e := range es.of {
		f(key, e)
	}
}

// enter creates the entry of a HelmRelease if there is none. It reports whether an existing one belongs to an earlier
// HelmRelease of the same name.
func (es *entries) enter(key string, uid types.UID) (stale bool) {
	es.mu.Lock()
	defer es.mu.Unlock()
	if e := es.of[key]; e != nil {
		return e.uid != uid
	}
	if es.of == nil {
		es.of = map[string]*entry{}
	}
	es.of[key] = &entry{bookkeeping: bookkeeping{uid: uid}}
	return false
}

func (es *entries) forget(key string) *entry {
	es.mu.Lock()
	defer es.mu.Unlock()
	e := es.of[key]
	delete(es.of, key)
	return e
}

// naming returns the HelmReleases whose records, in another namespace, name this release.
func (es *entries) naming(named release.Key) (keys []string) {
	es.each(func(key string, e *entry) {
		if e.names == named {
			keys = append(keys, key)
		}
	})
	return keys
}

// storageOf returns the release with the records of the release as, if those are in another namespace; zero for
// none. Of several, it returns that of the HelmRelease with the first key. It knows the releases that were locked since
// the operator began, even while Helm works.
func (es *entries) storageOf(as release.Key) (rel release.Key) {
	first := ""
	es.each(func(key string, e *entry) {
		if e.as == as && e.release != as && (first == "" || key < first) {
			first, rel = key, e.release
		}
	})
	return rel
}

// uidOf returns the uid of a HelmRelease; empty when it is not known.
func (c *common) uidOf(key string) (uid types.UID) {
	c.entries.update(key, func(e *entry) { uid = e.uid })
	return uid
}

// managerOf returns Helm's field manager of a release by the objects of its present or its last lock; empty when
// unknown. It keeps the manager for a revision without any live object.
func (c *common) managerOf(key string) (manager string) {
	known := ""
	if l := c.table.Get(key); l != nil {
		known = l.Manager()
	}
	c.entries.update(key, func(e *entry) {
		e.manager = cmp.Or(known, e.manager)
		manager = e.manager
	})
	return manager
}
