package lock

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
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

func (w *writing) begin(name string, undo int) *Write {
	write := &Write{Object: &Object{ID: manifest.ID{Kind: "ConfigMap", Name: name}}, Record: w.rec,
		Undo: make([]byte, undo)}
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

func TestI1_ACheckProvesOnlyWritesThatWereAnsweredBeforeItBegan(t *testing.T) {
	w := newWriting(t)
	before, during, lost, unanswered := w.begin("before", 0), w.begin("during", 0), w.begin("lost", 0),
		w.begin("unanswered", 0)
	w.Answered(before, nil, false)
	w.Answered(lost, nil, true)
	passed := w.Check()
	w.Answered(during, nil, false)
	w.over("before", "during", "lost")
	other := w.rec
	other.ResourceVersion = "2"
	passed(other)
	w.over("before", "during", "lost")
	passed(w.rec)
	w.over("during", "lost")
	w.Answered(unanswered, nil, false)
	w.over("during", "lost", "unanswered")
	w.Check()(w.rec)
	w.over("lost")
	if len(w.Releases()) != 1 || !w.Any(w.rec.Key, other) || w.Any(w.rec.Key, w.rec) {
		t.Error("what is left is not known")
	}
	w.Drop(w.Of(w.rec.Key)[0])
	w.over()
	if len(w.releases) != 0 {
		t.Errorf("kept: %v", w.releases)
	}
}

func TestALaterWriteToAnObjectTakesThePlaceOfTheEarlierOne(t *testing.T) {
	w := newWriting(t)
	first := w.begin("app", 10)
	w.Answered(first, nil, false)
	old := w.Of(w.rec.Key)[0]
	second := w.begin("app", 20)
	w.over()
	w.Drop(old) // says nothing about the second
	made := &unstructured.Unstructured{}
	second.Created = true
	w.Answered(second, made, false)
	w.over("app")
	if got := w.Of(w.rec.Key)[0]; got.Made != made || w.releases[w.rec.Key].undo != 20 {
		t.Errorf("kept: %+v, %d bytes", got, w.releases[w.rec.Key].undo)
	}
	w.Check()(w.rec)
	w.over()
}

func TestWritesThatTakeMuchMemoryAreToBeProven(t *testing.T) {
	w := newWriting(t)
	if w.Answered(w.begin("small", 100), nil, false) {
		t.Error("100 bytes are too much")
	}
	if !w.Answered(w.begin("large", maxUndoBytes), nil, false) {
		t.Errorf("%d bytes are not", maxUndoBytes)
	}
	w.Check()(w.rec)
	if w.Answered(w.begin("small", 100), nil, false) {
		t.Error("what was proven still counts")
	}
}

// Of two that want to follow an earlier write only one does, and what is kept is counted once.
func TestOneWriteFollowsAnother(t *testing.T) {
	w := newWriting(t)
	first := w.begin("a", 100)
	w.Answered(first, nil, false)
	earlier := w.Of(w.rec.Key)[0]
	next := &Write{Object: first.Object, Record: w.rec, Deleted: true, Undo: make([]byte, 10)}
	if !w.Follow(earlier, next) {
		t.Fatal("nothing else has its place, and next does not follow")
	}
	if w.Follow(earlier, &Write{Object: first.Object, Record: w.rec, Deleted: true}) {
		t.Error("two writes follow one")
	}
	if undo := w.releases[w.rec.Key].undo; undo != 10 {
		t.Errorf("%d bytes are kept, want 10", undo)
	}
	w.over() // the one that follows is not answered yet
	w.Answered(next, nil, false)
	w.over("a")
	w.Drop(earlier)
	w.over("a")
	w.Drop(*next)
	w.over()
	if w.Follow(earlier, next) {
		t.Error("a write follows one that is forgotten")
	}
}
