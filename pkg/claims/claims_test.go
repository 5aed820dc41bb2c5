package claims

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestClaims(t *testing.T) {
	var c Claims
	all := func(release.Key) bool { return true }
	one, two := release.Key{Namespace: "n", Name: "one"}, release.Key{Namespace: "n", Name: "two"}
	l, ended := lock.New(&lock.Lock{}, nil), lock.New(&lock.Lock{}, nil)
	a, b := manifest.ID{Name: "a"}, manifest.ID{Name: "b"}
	if c.Prune(); len(c.Take("one", all)) != 0 {
		t.Error("an empty one has claims")
	}
	c.Add(l, a, two)
	c.Add(l, a, one) // now, and not two any more
	c.Add(l, b, one)
	c.Add(ended, a, one)
	check.That(t, !c.Wanted("two") && c.Wanted("one"), "an object claims one release, the last that it named")
	if taken := c.Take("one", func(named release.Key) bool { return named != one }); len(taken) != 0 {
		t.Errorf("of objects that mean another release, %v are taken", taken)
	}
	c.Remove(l, b)
	ended.Close()
	c.Prune()
	taken := c.Take("one", all)
	_, claimed := taken[l][a]
	check.That(t, len(taken) == 1 && len(taken[l]) == 1 && claimed, "taken are %v", taken)
	check.That(t, !c.Wanted("one") && len(c.of) == 0, "left over: %v", c.of)
}

// Records of a name count for the objects of their release, and for possible ones.
func TestRecordsThatMayBeOfARelease(t *testing.T) {
	var d Declarations
	named, stored := release.Key{Namespace: "target", Name: "app"}, recordOf("storage", "app", "1")
	for what, tc := range map[string]struct {
		known *Declaration
		want  bool
	}{
		"of that release": {NewDeclaration(stored, named, nil), true},
		"of another":      {NewDeclaration(stored, stored.Key, nil), false},
		"not readable":    {FailedDeclaration(stored, errors.New("x")), true},
	} {
		d.Put(tc.known)
		check.Equal(t, d.MayBeOf(stored.Key, named), tc.want, "%v", what)
	}
	check.That(t, d.MayBeOf(release.Key{Namespace: "unread", Name: "app"}, named),
		"one that was not read may not be of it")
}

func recordOf(namespace, name, version string) release.Record {
	return release.Record{Key: release.Key{Namespace: namespace, Name: name}, UID: types.UID(name),
		ResourceVersion: version}
}

func configMaps(n int, prefix string) []manifest.ID {
	ids := make([]manifest.ID, n)
	for i := range ids {
		ids[i] = manifest.ID{Kind: "ConfigMap", Name: fmt.Sprintf("%s-%d", prefix, i)}
	}
	return ids
}

func TestDeclarations(t *testing.T) {
	var d Declarations
	first, changed := recordOf("n", "app", "1"), recordOf("n", "app", "2")
	wants := func(rec release.Record, known, begin bool, want error) *Declaration {
		t.Helper()
		got, begins, err := d.Get(rec)
		check.That(t, (got != nil) == known && begins == begin && errors.Is(err, want),
			"known %v, to be read %v, error %v", got, begins, err)
		return got
	}
	wants(first, false, true, nil)
	wants(first, false, false, nil)
	wants(changed, false, false, nil) // one at a time
	d.Put(NewDeclaration(first, first.Key, slices.Concat(configMaps(3, "x"), configMaps(1, "y"))))
	got := wants(first, true, false, nil)
	for id, want := range map[manifest.ID]bool{
		{Kind: "ConfigMap", Name: "x-2"}: true, {Kind: "ConfigMap", Name: "y-0"}: true,
		{Kind: "ConfigMap", Name: "x-3"}: false, {Kind: "Secret", Name: "x-2"}: false,
		{Kind: "ConfigMap", Namespace: "n", Name: "x-2"}: false,
	} {
		check.Equal(t, got.has(id), want, "%s: declared is %v", id, !want)
	}
	wants(changed, false, true, nil)
	failure := errors.New("it changed")
	d.Put(FailedDeclaration(changed, failure))
	wants(changed, false, false, failure)
	wants(changed, false, true, nil) // once told, it is tried again
	d.Forget(changed.Key)
	wants(changed, false, false, nil) // not what is being read
	d.Put(NewDeclaration(changed, changed.Key, nil))
	d.Forget(changed.Key)
	wants(changed, false, true, nil)
}

// The memory for one namespace is bounded, and not at the cost of another.
func TestDeclarationsOfANamespaceAreBounded(t *testing.T) {
	var d Declarations
	d.Put(NewDeclaration(recordOf("other", "app", "1"), release.Key{}, configMaps(1000, "x")))
	half := declaredBytes / 8 / 2
	for _, name := range []string{"a", "b", "c"} {
		d.Put(NewDeclaration(recordOf("n", name, "1"), release.Key{}, configMaps(half, "x")))
	}
	for name, want := range map[string]bool{"n/a": false, "n/b": false, "n/c": true, "other/app": true} {
		found := false
		for key := range d.known {
			found = found || key.String() == name
		}
		check.Equal(t, found, want, "%s is remembered", name)
	}
	d.Put(NewDeclaration(recordOf("n", "huge", "1"), release.Key{}, configMaps(3*half, "x")))
	got, _, _ := d.Get(recordOf("n", "huge", "1"))
	check.That(t, got != nil, "one that is too large by itself is not remembered")
}
