package watch

import (
	"context"
	"slices"
	"sync"

	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/rancher/helm-locker/pkg/release"
)

// Releases follows the records of all Helm releases in the cluster by a metadata-only watch on release Secrets: no
// payload is ever transferred. It keeps a few words per record. It is safe for concurrent use.
type Releases struct {
	client  metadata.Getter
	log     logrus.FieldLogger
	changed func(release.Key)
	feed    *feed

	mu      sync.RWMutex
	records map[release.Key]map[types.UID]release.Record
	byName  map[types.NamespacedName]record // the Secret's name to its record, to find it again when it goes
	bad     map[release.Key]map[string]Malformed
	badOf   map[types.NamespacedName]release.Key // the Secret's name to the release that bad has it under
}

// Malformed is a Secret that claims to be a record of a release and is not as Helm writes them.
type Malformed struct {
	Revision int // as the Secret's name has it; 0 when that says nothing
	Err      error
}

type record struct {
	key release.Key
	uid types.UID
}

// NewReleases returns a follower that calls changed, from one goroutine, whenever a record of a release came, changed or
// went. changed must only enqueue.
func NewReleases(client metadata.Interface, log logrus.FieldLogger, changed func(release.Key)) *Releases {
	r := &Releases{
		client: client.Resource(secretsGVR), log: log, changed: changed,
		records: map[release.Key]map[types.UID]release.Record{},
		byName:  map[types.NamespacedName]record{},
		bad:     map[release.Key]map[string]Malformed{},
		badOf:   map[types.NamespacedName]release.Key{},
	}
	r.feed = newFeed("release Secrets", r.listWatch(), &metav1.PartialObjectMetadata{}, r, log)
	return r
}

// Run follows records until ctx ends.
func (r *Releases) Run(ctx context.Context) { r.feed.run(ctx) }

// Synced is closed once the records that existed at the start are known.
func (r *Releases) Synced() <-chan struct{} { return r.feed.synced }

// Err returns the last error of the watch, nil while it works.
func (r *Releases) Err() error { return r.feed.lastError() }

// Newest returns the newest record of a release that the watch has seen.
func (r *Releases) Newest(key release.Key) (release.Record, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	all := make([]release.Record, 0, len(r.records[key]))
	for _, rec := range r.records[key] {
		all = append(all, rec)
	}
	return release.Newest(all)
}

// Before returns the records of a release with a lower revision than the given one, newest first.
func (r *Releases) Before(rec release.Record) []release.Record {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var earlier []release.Record
	for _, other := range r.records[rec.Key] {
		if other.Revision < rec.Revision {
			earlier = append(earlier, other)
		}
	}
	slices.SortFunc(earlier, func(a, b release.Record) int { return b.Revision - a.Revision })
	return earlier
}

// Malformed returns why Secrets that claim to be records of a release are not, by Secret name.
func (r *Releases) Malformed(key release.Key) map[string]Malformed {
	r.mu.RLock()
	defer r.mu.RUnlock()
	out := make(map[string]Malformed, len(r.bad[key]))
	for name, m := range r.bad[key] {
		out[name] = m
	}
	return out
}

func (r *Releases) listWatch() *cache.ListWatch {
	tweak := func(o *metav1.ListOptions) {
		o.LabelSelector = release.Selector("")
		o.FieldSelector = fields.OneTermEqualSelector("type", release.SecretType).String()
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			tweak(&o)
			return r.client.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			tweak(&o)
			return r.client.Watch(ctx, o)
		},
	}
}

// put records a Secret and returns the releases that it concerns.
func (r *Releases) put(m *metav1.PartialObjectMetadata) []release.Key {
	r.mu.Lock()
	defer r.mu.Unlock()
	touched := r.forget(types.NamespacedName{Namespace: m.Namespace, Name: m.Name})
	rec, err := release.RecordOf(m)
	if err != nil {
		key := rec.Key
		if key.Name == "" {
			// The label still tells which release the Secret pretends to belong to.
			key.Name = m.Labels[release.NameLabel]
		}
		if r.bad[key] == nil {
			r.bad[key] = map[string]Malformed{}
		}
		r.bad[key][m.Name] = Malformed{Revision: rec.Revision, Err: err}
		r.badOf[types.NamespacedName{Namespace: m.Namespace, Name: m.Name}] = key
		return append(touched, key)
	}
	if r.records[rec.Key] == nil {
		r.records[rec.Key] = map[types.UID]release.Record{}
	}
	r.records[rec.Key][rec.UID] = rec
	r.byName[types.NamespacedName{Namespace: m.Namespace, Name: m.Name}] = record{key: rec.Key, uid: rec.UID}
	return append(touched, rec.Key)
}

func (r *Releases) remove(name types.NamespacedName) []release.Key {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.forget(name)
}

// forget drops what is known of a Secret. r.mu is held.
func (r *Releases) forget(name types.NamespacedName) (touched []release.Key) {
	if key, was := r.badOf[name]; was { // not by a look at all of them: there may be as many as somebody likes
		delete(r.badOf, name)
		delete(r.bad[key], name.Name)
		if len(r.bad[key]) == 0 {
			delete(r.bad, key)
		}
		touched = append(touched, key)
	}
	known, ok := r.byName[name]
	if !ok {
		return touched
	}
	delete(r.byName, name)
	delete(r.records[known.key], known.uid)
	if len(r.records[known.key]) == 0 {
		delete(r.records, known.key)
	}
	return append(touched, known.key)
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

// The methods of the feed's sink.

func (r *Releases) observed(obj runtime.Object) {
	if m, ok := obj.(*metav1.PartialObjectMetadata); ok {
		r.notify(r.put(m))
	}
}

func (r *Releases) gone(obj runtime.Object) {
	if m, ok := obj.(*metav1.PartialObjectMetadata); ok {
		r.notify(r.remove(types.NamespacedName{Namespace: m.Namespace, Name: m.Name}))
	}
}

func (r *Releases) listed(present map[types.NamespacedName]struct{}) {
	for _, name := range r.names() {
		if _, exists := present[name]; !exists {
			r.notify(r.remove(name))
		}
	}
}

func (r *Releases) names() []types.NamespacedName {
	r.mu.RLock()
	defer r.mu.RUnlock()
	names := make([]types.NamespacedName, 0, len(r.byName))
	for name := range r.byName {
		names = append(names, name)
	}
	for key, bad := range r.bad {
		for name := range bad {
			names = append(names, types.NamespacedName{Namespace: key.Namespace, Name: name})
		}
	}
	return names
}
