package controller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
)

// entry is what is known of one HelmRelease beside its lock. Controller.mu guards the map and all fields but history,
// which has its own lock because drift workers write it.
type entry struct {
	uid      types.UID // of the HelmRelease
	release  release.Key
	as       release.Key // what the objects said they belong to when the release was last locked
	decision lock.Decision
	record   release.Record
	found    bool

	// problem is why a release that should be locked is not, or not wholly; zero reason for none.
	problem problem
	// refused is the record that problem is about, where nothing but another record ends it.
	refused release.Record
	// info is of the revision last read.
	info      info
	waiting   map[schema.GroupVersionKind][]manifest.ID // kinds that are not served
	served    map[schema.GroupKind][]string             // of these, the versions that are served instead
	conflicts []lock.Conflict
	denials   denials
	skipped   []manifest.Skipped
	kinds     []schema.GroupVersionKind
	// lockedAt is when the lock began.
	lockedAt time.Time
	// reload asks for a new lock although the record is the same.
	reload bool
	// leftovers is what is known of earlier revisions.
	leftovers leftovers

	history history
}

type problem struct{ reason, message string }

type info struct {
	revision           int
	description, notes string
}

// history remembers the newest drifts of a release.
type history struct {
	mu       sync.Mutex
	recent   []v1alpha1.DriftRecord // newest first
	reverted int                    // since the lock began
}

func (h *history) add(r v1alpha1.DriftRecord) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.recent = append([]v1alpha1.DriftRecord{r}, h.recent...)
	if len(h.recent) > v1alpha1.MaxRecentDrift {
		h.recent = h.recent[:v1alpha1.MaxRecentDrift]
	}
	if restores(r.Action) {
		h.reverted++
	}
}

// seed takes over what an earlier process wrote into the status, once.
func (h *history) seed(recent []v1alpha1.DriftRecord) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.recent) == 0 {
		h.recent = append(h.recent, recent...)
	}
}

func (h *history) snapshot() ([]v1alpha1.DriftRecord, int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]v1alpha1.DriftRecord(nil), h.recent...), h.reverted
}

func (h *history) locked() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reverted = 0
}

// entry returns the entry of a HelmRelease, nil for none.
func (c *Controller) entry(key string) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entries[key]
}

// update changes the entry of a HelmRelease, if there is one: late work of one that is gone must not bring it back.
func (c *Controller) update(key string, change func(*entry)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[key]; e != nil {
		change(e)
	}
}

// enter makes the entry of a HelmRelease unless there is one, and reports whether the one there is of an earlier
// HelmRelease of the same name.
func (c *Controller) enter(key string, uid types.UID) (stale bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.entries[key]; e != nil {
		return e.uid != uid
	}
	c.entries[key] = &entry{uid: uid}
	return false
}

func (c *Controller) forget(key string) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[key]
	delete(c.entries, key)
	return e
}
