package locking

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/ledger"
)

// DefinitionChanged enqueues the releases that wait for a kind. After a change of a definition's spec, it also reloads
// the releases with objects of its group: their lists may be compared differently now.
func (lk *Locker) DefinitionChanged(crd *metav1.PartialObjectMetadata) {
	lk.Kinds.DefinitionChanged()
	_, group, _ := strings.Cut(crd.Name, ".")
	reload := lk.Loader.DefinitionChanged(crd)
	lk.Ledger.Each(func(key string, e *ledger.Entry) {
		concerned := reload && slices.ContainsFunc(e.Kinds,
			func(gvk schema.GroupVersionKind) bool { return gvk.Group == group })
		e.Reload = e.Reload || concerned
		if concerned || len(e.Waiting) > 0 {
			lk.Queues.Releases.Add(key)
		}
	})
}

// kindArrived reports whether an awaited kind of the release is served by now. If none is, it asks again later.
func (lk *Locker) kindArrived(key string) bool {
	var kinds []schema.GroupVersionKind
	lk.Ledger.Update(key, func(e *ledger.Entry) {
		for gvk := range e.Waiting {
			kinds = append(kinds, gvk)
		}
	})
	if len(kinds) == 0 {
		return false
	}
	if lk.Kinds.Arrived(kinds) {
		return true
	}
	lk.Queues.Releases.AddAfter(key, lk.Kinds.Wait())
	return false
}
