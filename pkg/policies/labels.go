package policies

import (
	"slices"
	"sync"

	"github.com/rancher/helm-locker/pkg/watch"
)

// releaseLabels are the labels of releases by which the policies select, among those that `helm install --labels` adds
// to a record: those kept of the records of each storage.
type releaseLabels []*keptLabels

// follow has records keep the wanted labels. It calls listed whenever the records of a storage have been listed; listed
// must be safe for concurrent use, and only enqueue. It is called before the records are followed.
func (all *releaseLabels) follow(records *watch.Releases, listed func()) {
	records.KeepLabels(func(relist func()) watch.Labels {
		l := &keptLabels{listed: listed, relist: relist}
		*all = append(*all, l)
		return l
	})
}

// keep sets the keys of the wanted labels. It reports whether they are known of all records; if not, the records are
// listed again.
func (all releaseLabels) keep(keys []string) bool {
	everywhere := true
	for _, l := range all {
		known, list := l.keep(keys)
		if list {
			l.relist()
		}
		everywhere = everywhere && known
	}
	return everywhere
}

// keptLabels are the keys of the labels kept of the records of one storage. It is safe for concurrent use.
type keptLabels struct {
	listed, relist func()

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

// Of returns the wanted ones of some labels, nil for none.
func (l *keptLabels) Of(labels map[string]string) map[string]string {
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

// ListBegins is part of watch.Labels.
func (l *keptLabels) ListBegins() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.listing = slices.Clone(l.wanted)
}

// ListEnded is part of watch.Labels.
func (l *keptLabels) ListEnded() {
	l.mu.Lock()
	l.known = slices.Clone(l.listing)
	l.mu.Unlock()
	l.listed()
}
