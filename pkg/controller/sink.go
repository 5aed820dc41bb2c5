package controller

import (
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/watch"
)

// Observed, Gone and Listed make the controller the watch.Sink. They only compare digests and enqueue.

// Observed takes a look delivered by a watch. Objects that no lock owns cost a map look-up and nothing more.
func (c *Controller) Observed(gvk schema.GroupVersionKind, obj *unstructured.Unstructured) {
	id := watch.IDOf(gvk, obj)
	l := c.table.Owner(gvk, id)
	if l == nil {
		return
	}
	if l.Observe(id, c.observation(obj)) {
		c.driftQueue.Add(l.Key)
	}
}

// Gone takes a deletion, or the loss of Helm's label, which looks the same to a watch.
func (c *Controller) Gone(gvk schema.GroupVersionKind, last *unstructured.Unstructured) {
	id := watch.IDOf(gvk, last)
	l := c.table.Owner(gvk, id)
	if l == nil {
		return
	}
	o := lock.Observation{Last: last, Look: true, Version: version(last), Seen: c.Clock.Now()}
	if l.Observe(id, o) {
		c.driftQueue.Add(l.Key)
	}
}

// Listed has the objects looked at that a full list of their kind did not show.
func (c *Controller) Listed(gvk schema.GroupVersionKind, present func(manifest.ID) bool) {
	for _, l := range c.table.Locks() {
		wake := l.LookAt(c.Clock.Now(), func(o *lock.Object) bool {
			return o.GVK == gvk && !present(o.ID)
		})
		if wake {
			c.driftQueue.Add(l.Key)
		}
	}
}

// observation is a look at an object that exists.
func (c *Controller) observation(obj *unstructured.Unstructured) lock.Observation {
	return lock.Observation{Live: obj, Version: version(obj), Digest: c.hasher.Digest(obj.Object), Seen: c.Clock.Now()}
}

// version returns the resource version as a number, which Kubernetes defines it to be since 1.35; zero for the few
// aggregated API servers whose versions are no numbers: their objects are judged whatever the order.
func version(obj *unstructured.Unstructured) uint64 {
	n, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
