package prune

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func revision(n int) release.Record {
	return release.Record{Revision: n, UID: types.UID(fmt.Sprint("uid of ", n))}
}

func configMapID(name string) manifest.ID {
	return manifest.ID{Kind: "ConfigMap", Namespace: "apps", Name: name}
}

// Helm keeps ten revisions, and a release may have thousands in its life.
func TestWhatIsKnownOfARevisionIsForgottenWithItsRecord(t *testing.T) {
	known := &candidates{read: map[types.UID][]schema.GroupVersionKind{}, removed: map[manifest.ID]removed{}}
	var earlier []release.Record
	for n := 1; n <= 100; n++ {
		if earlier = append(earlier, revision(n)); len(earlier) > 10 {
			earlier = earlier[1:]
		}
		known.forget(earlier)
		known.read[revision(n).UID] = nil
		known.add(configMapID(fmt.Sprint("of ", n)), removed{uid: revision(n).UID, revision: n})
		known.add(configMapID("of all"), removed{uid: revision(n).UID, revision: n, keep: n == 1})
	}
	check.That(t, len(known.read) == 10 && len(known.removed) == 11, "%d revisions and %d objects are remembered",
		len(known.read), len(known.removed))
	_, ok := known.removed[configMapID("of 91")]
	check.That(t, ok, "what the oldest revision declared is forgotten")
	all := known.removed[configMapID("of all")]
	check.That(t, all.keep && all.uid == revision(100).UID, "what all revisions declared is %+v", all)
	// The history is read beginning with the newest revision.
	known.add(configMapID("of all"), removed{uid: revision(95).UID, revision: 95})
	all = known.removed[configMapID("of all")]
	check.That(t, all.revision == 100, "what all revisions declared is of revision %d", all.revision)
}

// Forty earlier revisions may declare twenty thousand other objects each; that many of all of them are remembered.
func TestWhatIsRememberedOfEarlierRevisionsIsBounded(t *testing.T) {
	l := lock.New(&lock.Lock{}, nil)
	known := &candidates{removed: map[manifest.ID]removed{}}
	for n := range 3 {
		var objects []manifest.Object
		for i := range maxRemoved / 2 {
			objects = append(objects, manifest.Object{ID: configMapID(fmt.Sprintf("r%d-%d", n, i)), Keep: true})
		}
		check.Equal(t, known.addAll(l, revision(n), objects), n < 2, "revision %d: all of it is remembered", n)
	}
	check.That(t, len(known.removed) == maxRemoved, "%d objects are remembered", len(known.removed))
	// A known object takes no room.
	id := configMapID("r0-0")
	check.That(t, known.addAll(l, revision(3), []manifest.Object{{ID: id}}) && known.removed[id].keep,
		"an object that is known is not added to, or is not kept any more")
}

// The worker may end a search after the lock and its HelmRelease are gone. What it found then must not stay for ever.
func TestCandidatesOfAnEndedLockAreDropped(t *testing.T) {
	pr := New(Options{Table: lock.NewTable()})
	l := lock.New(&lock.Lock{Key: "locker/web"}, nil)
	found := candidates{removed: map[manifest.ID]removed{configMapID("old"): {}}}
	pr.remember(l, found)
	check.Equal(t, len(pr.known), 0, "releases without a lock")
	pr.Table.Put(l)
	pr.remember(l, found)
	check.Equal(t, len(pr.candidatesOf("locker/web").removed), 1, "candidates of a lock")
	pr.Forget("locker/web")
	check.Equal(t, len(pr.known), 0, "releases that are no longer managed")
}
