package watch

import (
	"sync"

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
	// records has the known record of each stored object, by release; keys has the releases of an object, to find
	// them when it is deleted.
	records map[release.Key]map[place]record
	keys    map[place][]release.Key
}

// place is where a record is stored.
type place struct {
	storage release.Storage
	types.NamespacedName
}

// record is a record of a release, or an object with the error err.
type record struct {
	release.Record
	err    error
	labels map[string]string // those that are kept (see KeepLabels); nil for none
}

// Malformed is an object that claims to be a release record and differs from Helm's records.
type Malformed struct {
	// Record is derived from the object's name. Its revision is 0 when the name has none.
	release.Record
	Err error
}

// store is the watch of one storage. It is the sink of its feed.
type store struct {
	releases *Releases
	storage  release.Storage
	client   metadata.Getter
	feed     *feed[*metav1.PartialObjectMetadata]
	labels   Labels
}

// Labels chooses the labels kept of the records of one storage, for a process that selects releases by them. It is safe
// for concurrent use.
type Labels interface {
	// Of returns the kept ones of some labels; nil for none.
	Of(labels map[string]string) map[string]string
	// ListBegins is called before the records are listed, and ListEnded after.
	ListBegins()
	ListEnded()
}

// noLabels keeps none.
type noLabels struct{}

func (noLabels) Of(map[string]string) map[string]string { return nil }

func (noLabels) ListBegins() {}

func (noLabels) ListEnded() {}

// put records an object of a store and returns the affected releases.
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
		r.records[key][at] = record{rec, err, s.labels.Of(m.Labels)}
	}
	r.keys[at] = keys
	return append(touched, keys...)
}

func placeOf(storage release.Storage, m *metav1.PartialObjectMetadata) place {
	return place{storage, types.NamespacedName{Namespace: m.Namespace, Name: m.Name}}
}

// pretended returns the releases claimed by an object that is no record: the one in its name, if any, and the one in
// Helm's label.
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

// forget removes an object. r.mu is held.
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
