package watch

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/pkg/release"
)

// Labelled is a release with the kept labels of its newest record.
type Labelled struct {
	release.Key
	Labels map[string]string
}

// Labelled returns all releases with a valid record, in no order. The labels must not be changed.
func (r *Releases) Labelled() []Labelled {
	r.mu.RLock()
	defer r.mu.RUnlock()
	all := make([]Labelled, 0, len(r.records))
	var readable []release.Record
	for key, records := range r.records {
		readable = readable[:0]
		for _, rec := range records {
			if rec.err == nil {
				readable = append(readable, rec.Record)
			}
		}
		if newest, found := release.Newest(readable); found {
			at := place{newest.Storage, types.NamespacedName{Namespace: key.Namespace, Name: newest.ObjectName}}
			all = append(all, Labelled{key, records[at].labels})
		}
	}
	return all
}

// KeepLabels sets the keys of the kept labels, among those that `helm install --labels` adds to a record. It reports
// whether they are known of all records; if not, the records are listed again.
func (r *Releases) KeepLabels(keys []string) bool {
	all := true
	for _, s := range r.stores {
		known, list := s.labels.keep(keys)
		if list {
			s.feed.relist()
		}
		all = all && known
	}
	return all
}

// OnListed has a function called whenever the records of a storage have been listed; listed must be safe for concurrent
// use, and only enqueue. It is called before Run.
func (r *Releases) OnListed(listed func()) {
	for _, s := range r.stores {
		s.labels.listed = listed
	}
}

// keptLabels are the keys of the labels kept of the records of one storage. It is safe for concurrent use.
type keptLabels struct {
	listed func() // nil for none; set before there is concurrent use

	mu sync.Mutex
	// wanted are kept of records received from now on, listing since the start of the running list, and known of all.
	wanted, listing, known []string
}

// keep sets the wanted labels. It returns whether they are known of all records, and whether a list is needed that
// has not been requested yet.
func (l *keptLabels) keep(keys []string) (known, list bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	isNew := func(key string) bool { return !slices.Contains(l.wanted, key) }
	list = slices.ContainsFunc(keys, isNew)
	l.wanted = slices.Clone(keys)
	unwanted := func(key string) bool { return !slices.Contains(keys, key) }
	l.listing = slices.DeleteFunc(l.listing, unwanted)
	l.known = slices.DeleteFunc(l.known, unwanted)
	return len(l.known) == len(keys), list
}

// of returns the wanted ones of some labels, nil for none.
func (l *keptLabels) of(labels map[string]string) map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var kept map[string]string
	for _, key := range l.wanted {
		if value, found := labels[key]; found {
			if kept == nil {
				kept = map[string]string{}
			}
			kept[key] = value
		}
	}
	return kept
}

func (l *keptLabels) listBegins() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listing = slices.Clone(l.wanted)
}

func (l *keptLabels) listEnded() {
	l.mu.Lock()
	l.known = slices.Clone(l.listing)
	l.mu.Unlock()
	if l.listed != nil {
		l.listed()
	}
}
