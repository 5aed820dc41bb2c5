package watch

import (
	"context"
	"maps"
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
	feed    *feed[*metav1.PartialObjectMetadata]
	fences  fences
	ended   chan struct{}

	mu sync.RWMutex
	// records has what is known of each Secret, by the releases that it counts for and by its name; keys has those
	// releases, to find it again when it goes.
	records map[release.Key]map[string]record
	keys    map[types.NamespacedName][]release.Key
}

// record is a record of a release, or with err a Secret that is none.
type record struct {
	release.Record
	err error
}

// Malformed is a Secret that claims to be a record of a release and is not as Helm writes them.
type Malformed struct {
	Revision int // as the Secret's name has it; 0 when that says nothing
	Err      error
}

// NewReleases returns a follower that calls changed, from one goroutine, whenever a record of a release came,
// changed or went. changed must only enqueue. fence is the Secret that fences are written to (see Fence).
func NewReleases(
	client metadata.Interface, fence types.NamespacedName, log logrus.FieldLogger, changed func(release.Key),
) *Releases {
	r := &Releases{
		client: client.Resource(secretsGVR), log: log, changed: changed, fences: fences{secret: fence},
		ended:   make(chan struct{}),
		records: map[release.Key]map[string]record{},
		keys:    map[types.NamespacedName][]release.Key{},
	}
	r.feed = newFeed("release Secrets", r.listWatch(), &metav1.PartialObjectMetadata{}, r, log)
	return r
}

// Run follows records until ctx ends. It is called once.
func (r *Releases) Run(ctx context.Context) {
	defer close(r.ended)
	r.feed.run(ctx)
}

// Ended is closed when Run has returned: nothing is learnt from then on.
func (r *Releases) Ended() <-chan struct{} { return r.ended }

// Synced is closed once the records that existed at the start are known.
func (r *Releases) Synced() <-chan struct{} { return r.feed.synced }

// Err returns the last error of the watch, nil while it works.
func (r *Releases) Err() error { return r.feed.lastError() }

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
// of the type of records and labelled with release.OwnerFence. A call ends the wait for the token before.
func (r *Releases) Fence() (token string, seen <-chan struct{}) { return r.fences.next() }

// Current returns the newest record of a release that the watch has seen, false when there is none. It is an error
// when there is something that claims to be a record of the release and cannot be read: it may be the newest.
func (r *Releases) Current(key release.Key) (release.Record, bool, error) {
	for _, m := range r.Malformed(key) {
		return release.Record{}, false, m.Err
	}
	rec, found := r.Newest(key)
	return rec, found, nil
}

// Before returns the records of a release with a lower revision than the given one, newest first.
func (r *Releases) Before(rec release.Record) []release.Record {
	earlier := slices.DeleteFunc(r.all(rec.Key), func(o release.Record) bool { return o.Revision >= rec.Revision })
	slices.SortFunc(earlier, func(a, b release.Record) int { return b.Revision - a.Revision })
	return earlier
}

// Malformed returns why Secrets that claim to be records of a release are not, by Secret name.
func (r *Releases) Malformed(key release.Key) map[string]Malformed {
	r.mu.RLock()
	defer r.mu.RUnlock()
	bad := map[string]Malformed{}
	for name, rec := range r.records[key] {
		if rec.err != nil {
			bad[name] = Malformed{Revision: rec.Revision, Err: rec.err}
		}
	}
	return bad
}

func (r *Releases) listWatch() *cache.ListWatch {
	tweak := func(o *metav1.ListOptions) {
		o.LabelSelector = release.SelectorWithFences()
		o.FieldSelector = fields.OneTermEqualSelector("type", release.SecretType).String()
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			if o.Continue == "" { // not the next part of the same list
				r.fences.listBegins()
			}
			tweak(&o)
			return r.page(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			if o.SendInitialEvents != nil && *o.SendInitialEvents {
				r.fences.listBegins()
			}
			tweak(&o)
			return r.client.Watch(ctx, o)
		},
	}
}

// recordsPage is how many records are listed at a time, where the API server does not stream them.
const recordsPage = 50

// page lists some records. The Reflector keeps all pages, so that only what is needed of the metadata is left of
// each. A list at resourceVersion 0 has no pages: it is made a consistent one.
func (r *Releases) page(ctx context.Context, o metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	if o.ResourceVersion == "0" {
		o.ResourceVersion, o.ResourceVersionMatch = "", ""
	}
	o.Limit = recordsPage
	list, err := r.client.List(ctx, o)
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		trim(&list.Items[i])
	}
	return list, nil
}

// trim takes out of a record's metadata what is never read: its writer chooses how large it is.
func trim(m *metav1.PartialObjectMetadata) {
	kept := metav1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion,
		CreationTimestamp: m.CreationTimestamp,
	}
	for _, label := range release.Labels {
		if value, found := m.Labels[label]; found {
			metav1.SetMetaDataLabel(&kept, label, value)
		}
	}
	if token, found := m.Annotations[release.FenceAnnotation]; found {
		metav1.SetMetaDataAnnotation(&kept, release.FenceAnnotation, token)
	}
	m.ObjectMeta = kept
}

// put records a Secret and returns the releases that it concerns.
func (r *Releases) put(m *metav1.PartialObjectMetadata) []release.Key {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := types.NamespacedName{Namespace: m.Namespace, Name: m.Name}
	touched := r.forget(name)
	if isFence(m) {
		return touched
	}
	rec, err := release.RecordOf(m)
	keys := []release.Key{rec.Key}
	if err != nil {
		keys = pretended(rec.Key, m)
	}
	for _, key := range keys {
		if r.records[key] == nil {
			r.records[key] = map[string]record{}
		}
		r.records[key][m.Name] = record{rec, err}
	}
	r.keys[name] = keys
	return append(touched, keys...)
}

// pretended returns the releases that a Secret which is no record pretends to belong to: the one in its name, if
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

func (r *Releases) remove(name types.NamespacedName) []release.Key {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.forget(name)
}

// forget drops what is known of a Secret. r.mu is held.
func (r *Releases) forget(name types.NamespacedName) []release.Key {
	keys := r.keys[name]
	for _, key := range keys {
		delete(r.records[key], name.Name)
		if len(r.records[key]) == 0 {
			delete(r.records, key)
		}
	}
	delete(r.keys, name)
	return keys
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

func (r *Releases) observed(m *metav1.PartialObjectMetadata) {
	r.notify(r.put(m))
	if isFence(m) {
		r.fences.delivered(m)
	}
}

func (r *Releases) gone(m *metav1.PartialObjectMetadata) {
	r.notify(r.remove(types.NamespacedName{Namespace: m.Namespace, Name: m.Name}))
}

func (r *Releases) listed(present map[types.NamespacedName]struct{}) {
	r.mu.RLock()
	known := slices.Collect(maps.Keys(r.keys))
	r.mu.RUnlock()
	for _, name := range known {
		if _, exists := present[name]; !exists {
			r.notify(r.remove(name))
		}
	}
	r.fences.listEnded()
}
