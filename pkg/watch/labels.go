package watch

import (
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

// KeepLabels sets the kept labels of each storage, before Run. relist has its records listed again.
func (r *Releases) KeepLabels(choose func(relist func()) Labels) {
	for _, s := range r.stores {
		s.labels = choose(s.feed.relist)
	}
}
