package lock

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// Of a large object that waits for its next attempt, nothing is kept: there may be hundreds.
func TestALargeObjectIsNotKeptWhileItWaits(t *testing.T) {
	l := New(&Lock{Key: "ns/hr"}, objects("a"))
	l.Observe(id("a"), Observation{Large: true, NeedsGet: true, Version: 10, Seen: epoch})
	w := take(t, l, epoch, 1)[0]
	found := seen(10, 2, epoch)
	found.Large = true
	l.Done(w.ID, Outcome{Again: &found, Now: epoch})
	w = take(t, l, epoch, 1)[0]
	check.That(t, w.Live == nil && w.NeedsGet && w.Large && w.Seen == epoch, "kept %+v", w.Observation)
	found.Large = false
	l.Done(w.ID, Outcome{Again: &found, Now: epoch})
	w = take(t, l, epoch, 1)[0]
	check.That(t, w.Live != nil && !w.NeedsGet, "a small one is looked at again: %+v", w.Observation)
}

func TestWhatIsNeededOfAnObjectThatIsGone(t *testing.T) {
	check.That(t, Essence(nil) == nil, "nothing has become something")
	last := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "batch/v1", "kind": "Job", "spec": map[string]any{"a": strings.Repeat("a", 1<<20)},
		"status": map[string]any{"succeeded": int64(1)},
	}}
	last.SetName("a")
	last.SetAnnotations(map[string]string{"note": strings.Repeat("a", 1<<18)})
	last.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "helm", Operation: metav1.ManagedFieldsOperationUpdate}})
	kept := Essence(last)
	check.That(t,
		kept.GetName() == "a" && kept.GetKind() == "Job" && kept.Object["status"] != nil && len(kept.GetManagedFields()) == 1,
		"kept %v", kept.Object)
	check.That(t, kept.Object["spec"] == nil && kept.GetAnnotations() == nil, "what may be large is kept")
}
