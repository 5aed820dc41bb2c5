package lock

import (
	"testing"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// There may be 50,000 of each, and they are rounded up to these sizes anyway.
func TestWhatThereIsForEveryObjectIsSmall(t *testing.T) {
	got := unsafe.Sizeof(Object{})
	check.That(t, got <= 144, "an Object has %d bytes", got)
	got = unsafe.Sizeof(state{})
	check.That(t, got <= 80, "a state has %d bytes", got)
}

func TestAnEffortIsForgottenWhenItMakesNoDifferenceAnyMore(t *testing.T) {
	l := judged(t)
	s := l.objects.of(id("a"))
	check.That(t, s.backoff == nil, "an object that never drifted has a back-off state")
	l.RecordRevert(s.ID, epoch, epoch, []string{"/data/key"})
	l.Summarize(epoch.Add(quietAfter))
	check.That(t, s.backoff != nil, "a revert was forgotten while its window lasts")
	l.Summarize(epoch.Add(quietAfter + time.Second))
	check.That(t, s.backoff == nil, "a revert is remembered for ever")

	s.fail(epoch, false)
	l.Summarize(epoch.Add(time.Hour))
	check.Equal(t, s.failures(), 1, "a failure was forgotten without a success")
	s.succeed()
	l.Summarize(epoch.Add(time.Hour))
	check.That(t, s.backoff == nil, "failures are remembered after a success")
}

func TestObjectsAreFoundByAllOfTheirIdentity(t *testing.T) {
	a := manifest.ID{Group: "g", Kind: "K", Namespace: "ns", Name: "a"}
	alike := []manifest.ID{a, a, a, a, a}
	alike[1].Group, alike[2].Kind, alike[3].Namespace, alike[4].Name = "h", "L", "nt", "b"
	var objects []*Object
	for _, id := range alike {
		objects = append(objects, &Object{ID: id, Kind: &Kind{}})
	}
	all := newStates(objects)
	for i, id := range alike {
		s := all.of(id)
		check.That(t, s != nil && s.Object == objects[i], "%v is found as %v", id, s)
	}
	if s := all.of(manifest.ID{Name: "a"}); s != nil {
		t.Errorf("found %v, which is not there", s.ID)
	}
}

func TestObjectsOfAKindShareItUntilItChanges(t *testing.T) {
	schemas, err := drift.NewSchemas()
	check.NoError(t, err)
	gvk := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	var kinds Kinds
	plain := Kind{GVK: gvk, Namespaced: true}
	known := plain
	known.Schema = schemas.For(gvk)
	first := kinds.Share(plain)
	check.Equal(t, kinds.Share(plain), first, "two objects of one kind do not share it")
	second := kinds.Share(known)
	check.That(t, second != first && second.Schema == known.Schema && kinds.Share(known) == second,
		"a kind whose schema has changed is the old one")
}
