package rules

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func FuzzIgnoreRules(f *testing.F) {
	f.Add("/spec/*/a~1b", "/a/b", "keda-*", "Deploy(ment)?", "app in (a,b),!c", "spec\x00x\x00a/b", "Deployment")
	f.Add("", "/", "?*", `\Q(`, "a!=b", "", "")
	f.Add("/~", "/*/*/*", "", "(", "a=", "a\nb\x00c", "\n")
	f.Fuzz(func(t *testing.T, pointer, other, manager, expression, selector, at, name string) {
		ignore := []v1alpha1.IgnoreRule{
			{Paths: []string{pointer, other}, Target: &v1alpha1.IgnoreTarget{Name: expression, LabelSelector: selector}},
			{Paths: []string{other}, Managers: []string{manager}},
			{Managers: []string{manager}, Target: &v1alpha1.IgnoreTarget{Kind: expression, AnnotationSelector: selector}},
		}
		r, err := Compile(ignore)
		if err != nil {
			check.Must(t, r == nil && strings.HasPrefix(err.Error(), "spec.ignore[") && len(err.Error()) <= 8<<10, "%v and %q",
				r, err)
			return
		}
		again, err := Compile(ignore)
		check.NoError(t, err)
		o := object("v1", name, types.NamespacedName{Namespace: name, Name: name}, map[string]any{name: at, "a": name}, map[string]any{"b": at})
		m, second := r.For(o), again.For(o)
		check.Must(t, m != nil && second != nil, "a rule for everything selects nothing")
		path := strings.Split(at, "\x00")
		ignored, same := m.Bind(liveOwners()), second.Bind(liveOwners())
		above := false
		for i := range len(path) + 1 {
			now := ignored(path[:i])
			check.Must(t, now == ignored(path[:i]) && now == same(path[:i]), "two answers")
			if above && !now {
				t.Fatalf("%q is not ignored, though what is above is", path[:i])
			}
			above = now
		}
		if above && !ignored(append(slices.Clone(path), "below")) {
			t.Fatal("what is below an ignored field is not ignored")
		}
		check.Must(t, m.Keeps(name) == second.Keeps(name) && m.Whole() == second.Whole() && m.Describe() == second.Describe(),
			"the same rules differ")
		if strings.ContainsAny(manager, "*?") == false && m.Keeps(name) && name != manager {
			t.Fatalf("%q is not %q", name, manager)
		}
	})
}
