package remediate

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/lock"
)

// retryNamespace re-creates the objects of every release in a re-created Namespace w at once. They were deleted with
// it, and the API server refused each attempt to create them during its deletion.
func (rv *reverter) retryNamespace(w *lock.Work) {
	if w.ID.GroupKind() != (schema.GroupKind{Kind: "Namespace"}) {
		return
	}
	for _, l := range rv.Table.Locks() {
		if l.Retry(func(o *lock.Object) bool { return o.ID.Namespace == w.ID.Name }) {
			rv.Queues.Drift.Add(l.Key)
		}
	}
}
