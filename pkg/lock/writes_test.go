package lock

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// writing is a Writes with a release, and short ways to say what happens.
type writing struct {
	Writes
	*testing.T
	rec release.Record
}

func newWriting(t *testing.T) *writing {
	return &writing{T: t, rec: release.Record{Key: release.Key{Namespace: "apps", Name: "web"}, UID: "u1",
		ResourceVersion: "1"}}
}

func (w *writing) begin(name string) *Write {
	write := &Write{Object: &Object{ID: manifest.ID{Kind: "ConfigMap", Name: name}}, Record: w.rec}
	w.Begin(write)
	return write
}

func (w *writing) over(want ...string) {
	w.Helper()
	var names []string
	for _, write := range w.Of(w.rec.Key) {
		names = append(names, write.Object.ID.Name)
	}
	slices.Sort(names)
	if !slices.Equal(names, want) {
		w.Errorf("writes %q, want %q", names, want)
	}
}

// A write that is not answered yet may land after the record is read.
func TestI1_OnlyWritesThatAreAnsweredAreProven(t *testing.T) {
	w := newWriting(t)
	answered, lost, underWay := w.begin("answered"), w.begin("lost"), w.begin("under way")
	w.Answered(answered, nil, false)
	w.Answered(lost, nil, true)
	w.over("answered", "lost")
	other := w.rec
	other.ResourceVersion = "2"
	check.That(t, len(w.Releases()) == 1 && w.Any(w.rec.Key, newest(other)) && !w.Any(w.rec.Key, newest(w.rec)),
		"what is kept is not known")
	for _, write := range w.Of(w.rec.Key) {
		w.Drop(write)
	}
	w.over()
	w.Answered(underWay, nil, false)
	w.over("under way")
	for _, write := range w.Of(w.rec.Key) {
		w.Drop(write)
	}
	w.over()
	check.Equal(t, len(w.releases), 0, "kept: %v", w.releases)
}

func TestALaterWriteToAnObjectTakesThePlaceOfTheEarlierOne(t *testing.T) {
	w := newWriting(t)
	first := w.begin("app")
	w.Answered(first, nil, false)
	old := w.Of(w.rec.Key)[0]
	second := w.begin("app")
	w.over()
	w.Drop(old) // says nothing about the second
	w.Again(old)
	made := &unstructured.Unstructured{}
	second.Created = true
	w.Answered(second, made, false)
	w.over("app")
	got := w.Of(w.rec.Key)[0]
	check.That(t, got.Made == made, "kept: %+v", got)
}

// Of two that want to follow an earlier write only one does. One that is to be looked at again takes no other's place.
func TestOneWriteFollowsAnother(t *testing.T) {
	w := newWriting(t)
	first := w.begin("a")
	w.Answered(first, nil, false)
	earlier := w.Of(w.rec.Key)[0]
	next := &Write{Object: first.Object, Record: w.rec, Deleted: true}
	check.Must(t, w.Follow(earlier, next), "nothing else has its place, and next does not follow")
	check.That(t, !w.Follow(earlier, &Write{Object: first.Object, Record: w.rec, Deleted: true}),
		"two writes follow one")
	w.over() // the one that follows is not answered yet
	w.Answered(next, nil, false)
	w.over("a")
	w.Drop(earlier)
	w.over("a")
	w.Drop(*next)
	w.over()
	check.That(t, !w.Follow(earlier, next), "a write follows one that is forgotten")
	w.Again(earlier)
	w.over("a")
	check.That(t, w.Follow(earlier, next), "nothing follows one that is to be looked at again")
}

// newest returns a function for Any.
func newest(rec release.Record) func(release.Record) release.Record {
	return func(release.Record) release.Record { return rec }
}

// A creation with a lost answer may still be carried out. If the next one is refused because the object exists, this
// object may be its own.
func TestAWriteThatFailedLeavesALostOneInItsPlace(t *testing.T) {
	var s Writes
	of := func() *Write {
		return &Write{Object: objects("a")[0], Record: release.Record{Key: release.Key{Namespace: "apps", Name: "x"}},
			Created: true}
	}
	lost, next := of(), of()
	s.Begin(lost)
	s.Answered(lost, nil, true)
	s.Begin(next)
	s.Answered(next, nil, false)
	s.Failed(next)
	over := s.Of(lost.Record.Key)
	check.That(t, len(over) == 1 && over[0].Lost, "remembered are %+v", over)
	s.Drop(*lost)
	third := of()
	s.Begin(third)
	s.Answered(third, nil, false)
	s.Failed(third)
	check.Equal(t, len(s.Releases()), 0, "a write that was not carried out is remembered")
}
