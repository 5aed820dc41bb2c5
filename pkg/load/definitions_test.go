package load

import (
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// A read definition may be older or newer than the event of the watch, whichever comes first. Nobody goes on with the
// older one.
func TestDefinitions(t *testing.T) {
	gvk := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	at := func(generation int64) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "widgets.example.com", UID: "a",
			Generation: generation, ResourceVersion: strconv.FormatInt(generation, 10)}}
	}
	type step func(*definitions)
	seen := func(generation int64) step { return func(d *definitions) { d.changed(at(generation)) } }
	read := func(generation int64) step {
		return func(d *definitions) { d.put(gvk, at(generation), drift.Schema{}) }
	}
	for name, tc := range map[string]struct {
		steps   []step
		kept    bool
		changes int
	}{
		"read and never seen":             {steps: []step{read(1)}, kept: true},
		"seen as it was read":             {steps: []step{read(1), seen(1)}, kept: true},
		"read as it was seen":             {steps: []step{seen(1), read(1)}, kept: true},
		"read, and seen first as another": {steps: []step{read(1), seen(2)}, changes: 1},
		"seen, and read as it was before": {steps: []step{seen(2), read(1)}, changes: 1},
		"read before the watch tells":     {steps: []step{seen(1), read(2)}},
		"and then it tells":               {steps: []step{seen(1), read(2), seen(2)}, changes: 1},
		"changed before anybody read it":  {steps: []step{seen(1), seen(2), read(2)}, kept: true, changes: 1},
		"changed after it was read":       {steps: []step{seen(1), read(1), seen(2)}, changes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := &definitions{}
			for _, do := range tc.steps {
				do(d)
			}
			_, kept := d.get(gvk)
			check.That(t, kept == tc.kept, "what was read is kept: %t", kept)
			got := d.changesSoFar()
			check.That(t, got == tc.changes, "%d changes, want %d", got, tc.changes)
		})
	}
}
