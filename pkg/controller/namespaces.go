package controller

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/lock"
)

// namespaceIsBack has the objects in a namespace re-created at once, of every release, when w is a Namespace that is
// there again. They were deleted with it, and the API server refused each attempt to create them while it was being
// deleted.
func (rm *remediation) namespaceIsBack(w *lock.Work) {
	if w.ID.GroupKind() != (schema.GroupKind{Kind: "Namespace"}) {
		return
	}
	for _, l := range rm.table.Locks() {
		if l.Retry(func(o *lock.Object) bool { return o.ID.Namespace == w.ID.Name }) {
			rm.queues.drift.Add(l.Key)
		}
	}
}
