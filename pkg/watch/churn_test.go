package watch

import (
	"fmt"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// statusEvent is an event with a version, a number of replicas and a status.
const statusEvent = `{"type":"MODIFIED","object":{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web",` +
	`"namespace":"apps","resourceVersion":"%d"},"spec":{"replicas":%d},"status":{"conditions":[{"message":"%d"}]}}}` + "\n"

// A change of content among status updates is found, at any speed of events: here as fast as they can be read.
func TestNoChangeIsLostAmongStatusUpdates(t *testing.T) {
	const events, every = 20000, 50
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := range events {
			if _, err := fmt.Fprintf(w, statusEvent, i+1, 1+i/every, i); err != nil {
				t.Error(err)
				return
			}
		}
	})
	watch, err := c.Watch(t.Context(), deployments, metav1.ListOptions{})
	check.NoError(t, err)
	defer watch.Stop()
	h, judged, changes, seen := drift.NewHasher(), uint64(0), int64(0), 0
	for e := range watch.ResultChan() {
		live, ok := e.Object.(*Live)
		check.Must(t, ok, "delivered a %T", e.Object)
		seen++
		digest, err := live.Digest(h)
		check.NoError(t, err)
		if digest != judged {
			judged = digest
			changes++
			u, err := live.Decode()
			check.NoError(t, err)
			n, _, _ := unstructured.NestedInt64(u.Object, "spec", "replicas")
			check.Must(t, n == changes, "change %d has %d replicas", changes, n)
		}
	}
	check.That(t, seen == events && changes == events/every, "%d events and %d changes, want %d and %d", seen, changes,
		events, events/every)
}
