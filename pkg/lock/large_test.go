package lock

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	if w.Live != nil || !w.NeedsGet || !w.Large || w.Seen != epoch {
		t.Errorf("kept %+v", w.Observation)
	}
	found.Large = false
	l.Done(w.ID, Outcome{Again: &found, Now: epoch})
	if w = take(t, l, epoch, 1)[0]; w.Live == nil || w.NeedsGet {
		t.Errorf("a small one is looked at again: %+v", w.Observation)
	}
}

func TestWhatIsNeededOfAnObjectThatIsGone(t *testing.T) {
	if Essence(nil) != nil {
		t.Error("nothing has become something")
	}
	last := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "batch/v1", "kind": "Job", "spec": map[string]any{"a": strings.Repeat("a", 1<<20)},
		"status": map[string]any{"succeeded": int64(1)},
	}}
	last.SetName("a")
	last.SetAnnotations(map[string]string{"note": strings.Repeat("a", 1<<18)})
	last.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "helm",
		Operation: metav1.ManagedFieldsOperationUpdate}})
	kept := Essence(last)
	if kept.GetName() != "a" || kept.GetKind() != "Job" || kept.Object["status"] == nil ||
		len(kept.GetManagedFields()) != 1 {
		t.Errorf("kept %v", kept.Object)
	}
	if kept.Object["spec"] != nil || kept.GetAnnotations() != nil {
		t.Error("what may be large is kept")
	}
}
