package lock

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// After a restored backup, resource versions begin again at lower ones.
func TestHostile_ObservationsOfARestoredBackupAreBelieved(t *testing.T) {
	l := judged(t)
	check.Must(t, !l.Observe(id("a"), seen(5, 2, epoch)), "an older observation counts")
	l.Rewind(schema.GroupVersionKind{Version: "v1", Kind: "Secret"})
	check.Must(t, !l.Observe(id("a"), seen(5, 2, epoch)), "it counts because another kind was restored")
	l.Rewind(configMaps)
	check.Must(t, !l.Known(id("a"), 5, 2) && l.Observe(id("a"), seen(5, 2, epoch)),
		"an observation of the restored backup does not count")
	// A worker has the object while versions begin again: the version that it hands back is of before.
	w := take(t, l, epoch, 1)[0]
	l.Rewind(configMaps)
	l.Done(w.ID, Outcome{Good: true, Digest: 2, Version: 11, Now: epoch})
	check.That(t, l.Observe(id("a"), seen(6, 3, epoch)), "what a worker saw before hides the restored backup")
	w = take(t, l, epoch, 1)[0]
	l.Done(w.ID, Outcome{Good: true, Digest: 3, Version: 7, Now: epoch})
	check.That(t, !l.Observe(id("a"), seen(7, 4, epoch)), "the order of versions does not count any more")
}
