// Package ledger has the state of each HelmRelease beside its lock, and the scope of the guard that follows from it.
package ledger

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

// Entry is the state of one HelmRelease beside its lock. A Ledger guards it.
type Entry struct {
	status.Facts
	Bookkeeping
	// As is the release that the objects named at the last lock.
	As release.Key
	// Names is the release in the record's payload, if it is in another namespace; zero for none.
	Names release.Key
	// Refused is the record behind problem, if only another record ends the problem.
	Refused release.Record
	// Elsewhere is the result of a search for records in unread storages, at generation ElsewhereAt of the
	// HelmRelease; 0 before a search.
	Elsewhere   lock.Elsewhere
	ElsewhereAt int64
	// Fresh is set if the newest record became deployed under the operator's eyes, until all its objects are judged.
	Fresh bool
	// AnnouncedEnd is the last end of an ignore rule that was announced.
	AnnouncedEnd time.Time
	// Reload requests a new lock for the same record.
	Reload bool
	// RecordChanged is set when a record of the release has changed, perhaps one that came and went unseen.
	RecordChanged bool
	// Asked is the number of repeated checks of Denials.
	Asked int
	// History are the newest drifts.
	History History
	// manager is Helm's field manager of the release by the objects of its last lock; empty when unknown.
	manager string
}

// Bookkeeping are the facts about a release that a status does not show.
type Bookkeeping struct {
	// UID is that of the HelmRelease.
	UID types.UID
	// Handled is set once the lock of the HelmRelease, or its absence, follows the spec of this generation.
	Handled bool
	// Release is the release that the HelmRelease names.
	Release release.Key
	// Last is the newest record that was seen; zero for none.
	Last release.Record
	// Kinds are the kinds of the locked objects.
	Kinds []schema.GroupVersionKind
	// WrittenBy is the last writer of a record, see Facts.Writer.
	WrittenBy *trust.Writer
	// Guards describes the requests for the guard; nil for none.
	Guards *guard.Wanted
	// LockedAt is the beginning of the lock.
	LockedAt time.Time
}

// UpdateFresh compares the newest record with that of before, and sets Fresh. The first record after a start may have
// been deployed long ago.
func (e *Entry) UpdateFresh(rec release.Record, found bool) {
	same := found && e.Found && rec.UID == e.Record.UID
	if e.Handled && !(same && e.Record.Status == rec.Status) {
		e.Fresh = found && rec.Status == release.StatusDeployed
	}
}

// Remember records and returns the newest record of a release. If there is none now, it returns the last one; zero for
// none.
func (e *Entry) Remember(of release.Key, rec release.Record, found bool) release.Record {
	if found || e.Release != of {
		e.Last = rec
	}
	return e.Last
}

// History remembers the newest drifts of a release.
type History struct {
	Recent   []v1alpha1.DriftRecord // newest first
	Reverted int                    // since the lock began
}

// Add remembers the records of one drift.
func (h *History) Add(records ...v1alpha1.DriftRecord) {
	h.Recent = append(slices.Clone(records), h.Recent...)
	if len(h.Recent) > v1alpha1.MaxRecentDrift {
		h.Recent = h.Recent[:v1alpha1.MaxRecentDrift]
	}
	if Restores(records[0].Action) {
		h.Reverted++
	}
}

// AddDenied records a denied request. It counts an equal request of the same user in the same record.
func (h *History) AddDenied(r v1alpha1.DriftRecord) {
	same := slices.IndexFunc(h.Recent, func(o v1alpha1.DriftRecord) bool {
		return o.Action == r.Action && o.Object == r.Object && o.User == r.User && slices.Equal(o.Paths, r.Paths)
	})
	if same >= 0 {
		r.Count = h.Recent[same].Count + 1
		h.Recent = slices.Delete(slices.Clone(h.Recent), same, same+1)
	}
	h.Add(r)
}

// Seed copies the history of an earlier process from the status, once.
func (h *History) Seed(recent []v1alpha1.DriftRecord) {
	if len(h.Recent) == 0 {
		h.Recent = append(h.Recent, recent...)
	}
}

// Ledger is the state of the HelmReleases, by their keys. It is safe for concurrent use.
type Ledger struct {
	// guardChanged holds a token when the set of guarded kinds may have changed.
	guardChanged chan struct{}

	mu sync.Mutex
	of map[string]*Entry
}

// New returns an empty ledger.
func New() *Ledger {
	return &Ledger{guardChanged: make(chan struct{}, 1), of: map[string]*Entry{}}
}

// Update changes the entry of a HelmRelease, and reports whether there is one. It creates none: late work on a deleted
// HelmRelease must not bring it back.
func (ld *Ledger) Update(key string, change func(*Entry)) bool {
	ld.mu.Lock()
	defer ld.mu.Unlock()
	e := ld.of[key]
	if e != nil {
		change(e)
	}
	return e != nil
}

// Each calls f for every entry. f must not use the ledger.
func (ld *Ledger) Each(f func(key string, e *Entry)) {
	ld.mu.Lock()
	defer ld.mu.Unlock()
	for key, e := range ld.of {
		f(key, e)
	}
}

// Enter creates the entry of a HelmRelease if there is none. It reports whether an existing one belongs to an earlier
// HelmRelease of the same name.
func (ld *Ledger) Enter(key string, uid types.UID) (stale bool) {
	ld.mu.Lock()
	defer ld.mu.Unlock()
	if e := ld.of[key]; e != nil {
		return e.UID != uid
	}
	ld.of[key] = &Entry{Bookkeeping: Bookkeeping{UID: uid}}
	return false
}

// Forget removes and returns the entry of a HelmRelease; nil for none.
func (ld *Ledger) Forget(key string) *Entry {
	ld.mu.Lock()
	defer ld.mu.Unlock()
	e := ld.of[key]
	delete(ld.of, key)
	return e
}

// Naming returns the HelmReleases whose records, in another namespace, name this release.
func (ld *Ledger) Naming(named release.Key) (keys []string) {
	ld.Each(func(key string, e *Entry) {
		if e.Names == named {
			keys = append(keys, key)
		}
	})
	return keys
}

// StorageOf returns the release with the records of the release as, if those are in another namespace; zero for
// none. Of several, it returns that of the HelmRelease with the first key. It knows the releases that were locked since
// the operator began, even while Helm works.
func (ld *Ledger) StorageOf(as release.Key) (rel release.Key) {
	first := ""
	ld.Each(func(key string, e *Entry) {
		if e.As == as && e.Release != as && (first == "" || key < first) {
			first, rel = key, e.Release
		}
	})
	return rel
}

// UIDOf returns the uid of a HelmRelease; empty when it is not known.
func (ld *Ledger) UIDOf(key string) (uid types.UID) {
	ld.Update(key, func(e *Entry) { uid = e.UID })
	return uid
}

// ManagerOf returns Helm's field manager of a release by the objects of its present lock l, or else of its last lock;
// empty when unknown. It keeps the manager for a revision without any live object. l is nil for none.
func (ld *Ledger) ManagerOf(key string, l *lock.Lock) (manager string) {
	known := ""
	if l != nil {
		known = l.Manager()
	}
	ld.Update(key, func(e *Entry) {
		e.manager = cmp.Or(known, e.manager)
		manager = e.manager
	})
	return manager
}

// Restores reports whether an action made the objects of the release as the manifest has them.
func Restores(action v1alpha1.DriftAction) bool {
	switch action {
	case v1alpha1.DriftActionReverted, v1alpha1.DriftActionRecreated, v1alpha1.DriftActionReplaced,
		v1alpha1.DriftActionPruned:
		return true
	}
	return false
}
