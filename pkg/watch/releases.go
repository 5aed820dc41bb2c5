package watch

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"github.com/rancher/helm-locker/pkg/release"
)

// Releases follows the records of all Helm releases in the cluster by metadata-only watches, one for each storage: no
// payload is ever transferred. It keeps a few words per record. It is safe for concurrent use.
type Releases struct {
	changed func(release.Key)
	stores  []*store
	fences  fences
	synced  chan struct{}
	ended   chan struct{}

	mu sync.RWMutex
	// records has what is known of each stored object, by the releases that it counts for; keys has those releases, to
	// find it again when it goes.
	records map[release.Key]map[place]record
	keys    map[place][]release.Key
}

// place is where a record is stored.
type place struct {
	storage release.Storage
	types.NamespacedName
}

// record is a record of a release, or with err an object that is none.
type record struct {
	release.Record
	err    error
	labels map[string]string // those that are kept (see KeepLabels); nil for none
}

// Malformed is an object that claims to be a record of a release and is not as Helm writes them.
type Malformed struct {
	// Record has what the object's name tells. Its revision is 0 when that says nothing.
	release.Record
	Err error
}

// NewReleases returns a follower of the records in some storages. It calls changed whenever a record of a release came,
// changed or went; changed must be safe for concurrent use, and only enqueue. fence is the Secret that fences are
// written to (see Fence).
func NewReleases(
	client metadata.Interface, storages []release.Storage, fence types.NamespacedName, log logrus.FieldLogger,
	changed func(release.Key),
) *Releases {
	r := &Releases{
		changed: changed, fences: fences{secret: fence}, synced: make(chan struct{}), ended: make(chan struct{}),
		records: map[release.Key]map[place]record{}, keys: map[place][]release.Key{},
	}
	for _, storage := range storages {
		r.stores = append(r.stores, newStore(r, client, storage, log))
	}
	return r
}

// Run follows records until ctx ends. It is called once.
func (r *Releases) Run(ctx context.Context) {
	defer close(r.ended)
	var running sync.WaitGroup
	defer running.Wait()
	for _, s := range r.stores {
		running.Go(func() { s.feed.run(ctx) })
	}
	for _, s := range r.stores {
		select {
		case <-s.feed.synced:
		case <-ctx.Done():
			return
		}
	}
	close(r.synced)
}

// Ended is closed when Run has returned: nothing is learnt from then on.
func (r *Releases) Ended() <-chan struct{} { return r.ended }

// Synced is closed once the records that existed at the start are known.
func (r *Releases) Synced() <-chan struct{} { return r.synced }

// Err returns the last error of a watch, nil while all work.
func (r *Releases) Err() error {
	for _, s := range r.stores {
		if err := s.feed.lastError(); err != nil {
			return err
		}
	}
	return nil
}

// Newest returns the newest record of a release that the watch has seen.
func (r *Releases) Newest(key release.Key) (release.Record, bool) { return release.Newest(r.all(key)) }

func (r *Releases) all(key release.Key) []release.Record {
	r.mu.RLock()
	defer r.mu.RUnlock()
	all := make([]release.Record, 0, len(r.records[key]))
	for _, rec := range r.records[key] {
		if rec.err == nil {
			all = append(all, rec.Record)
		}
	}
	return all
}

// Fence returns a new token, and a channel that is closed once everything is known that was written to any record
// before the caller writes the token to the annotation release.FenceAnnotation of the Secret for fences. That Secret is
// of the type of records and labelled with release.OwnerFence. A call ends the wait for the token before. Only where
// Secrets are the only storage: the watches of two storages are in no order.
func (r *Releases) Fence() (token string, seen <-chan struct{}) { return r.fences.next() }

// Current returns the newest record of a release that the watch has seen, false when there is none. It is an error
// when there is something that claims to be a record of the release and cannot be read: it may be the newest.
func (r *Releases) Current(key release.Key) (release.Record, bool, error) {
	if bad := r.Malformed(key); len(bad) > 0 {
		return release.Record{}, false, bad[0].Err
	}
	rec, found := r.Newest(key)
	return rec, found, nil
}

// Before returns the records of a release with a lower revision than the given one, newest first. Those in another
// storage are not of its history.
func (r *Releases) Before(rec release.Record) []release.Record {
	earlier := slices.DeleteFunc(r.all(rec.Key), func(o release.Record) bool {
		return o.Storage != rec.Storage || o.Revision >= rec.Revision
	})
	slices.SortFunc(earlier, func(a, b release.Record) int { return b.Revision - a.Revision })
	return earlier
}

// Malformed returns the objects that claim to be records of a release and are not, in a stable order.
func (r *Releases) Malformed(key release.Key) []Malformed {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var bad []Malformed
	for _, rec := range r.records[key] {
		if rec.err != nil {
			bad = append(bad, Malformed{rec.Record, rec.err})
		}
	}
	slices.SortFunc(bad, func(a, b Malformed) int { return cmp.Compare(a.Object(), b.Object()) })
	return bad
}

// put records an object of a store and returns the releases that it concerns.
func (r *Releases) put(s *store, m *metav1.PartialObjectMetadata) []release.Key {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := placeOf(s.storage, m)
	touched := r.forget(at)
	if isFence(m) || !s.storage.MayBeRecord(m) {
		return touched
	}
	rec, err := s.storage.RecordOf(m)
	keys := []release.Key{rec.Key}
	if err != nil {
		keys = pretended(rec.Key, m)
	}
	for _, key := range keys {
		if r.records[key] == nil {
			r.records[key] = map[place]record{}
		}
		r.records[key][at] = record{rec, err, s.labels.of(m.Labels)}
	}
	r.keys[at] = keys
	return append(touched, keys...)
}

func placeOf(storage release.Storage, m *metav1.PartialObjectMetadata) place {
	return place{storage, types.NamespacedName{Namespace: m.Namespace, Name: m.Name}}
}

// pretended returns the releases that an object which is no record pretends to belong to: the one in its name, if
// that has one, and the one of the label by which Helm finds records.
func pretended(named release.Key, m *metav1.PartialObjectMetadata) []release.Key {
	labelled := release.Key{Namespace: m.Namespace, Name: m.Labels[release.NameLabel]}
	switch {
	case named.Name == "", named == labelled:
		return []release.Key{labelled}
	case labelled.Name == "":
		return []release.Key{named}
	}
	return []release.Key{named, labelled}
}

func (r *Releases) remove(at place) []release.Key {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.forget(at)
}

// forget drops what is known of an object. r.mu is held.
func (r *Releases) forget(at place) []release.Key {
	keys := r.keys[at]
	for _, key := range keys {
		delete(r.records[key], at)
		if len(r.records[key]) == 0 {
			delete(r.records, key)
		}
	}
	delete(r.keys, at)
	return keys
}

// in returns where records of one storage are known to be.
func (r *Releases) in(storage release.Storage) []place {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var known []place
	for at := range r.keys {
		if at.storage == storage {
			known = append(known, at)
		}
	}
	return known
}

func (r *Releases) notify(keys []release.Key) {
	seen := map[release.Key]bool{}
	for _, key := range keys {
		if !seen[key] {
			seen[key] = true
			r.changed(key)
		}
	}
}
