package rules

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/fixture"
)

// checker knows the ignored paths, and the lists merged by name: in a Pod some are, in a custom resource none.
type checker struct {
	ignore func([]string) bool
	keyed  map[string]bool
}

// spared checks that all ignored values at and below a declared value are the same in target and live.
func (c checker) spared(want, live, target any, at []string) error {
	switch w := want.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		if !ok && live != nil {
			return nil // replaced as a whole by something that has no such fields
		}
		t, _ := target.(map[string]any)
		for key, v := range w {
			below := append(slices.Clone(at), key)
			if c.ignore(below) {
				if !reflect.DeepEqual(l[key], t[key]) {
					return fmt.Errorf("%s: live %v, target %v", strings.Join(below, "/"), l[key], t[key])
				}
			} else if err := c.spared(v, l[key], t[key], below); err != nil {
				return err
			}
		}
	case []any:
		l, ok := live.([]any)
		t, alike := target.([]any)
		if !ok || !alike {
			return nil
		}
		for i := range w {
			if err := c.sparedElement(i, w, l, t, append(slices.Clone(at), strconv.Itoa(i))); err != nil {
				return err
			}
		}
	}
	return nil
}

// sparedElement is spared for an element of a list. In one that is merged by name, live and target have it under its
// name. In all others the target has it at its place, from any live element: a moved one returns with its values.
// There, an element of a list of another length is restored whole, unless nothing of it changed.
func (c checker) sparedElement(i int, want, live, target []any, at []string) error {
	v := want[i]
	if c.keyed[at[len(at)-2]] {
		name := v.(map[string]any)["name"]
		find := func(list []any) any {
			found := slices.IndexFunc(list, func(e any) bool { m, _ := e.(map[string]any); return m["name"] == name })
			if found < 0 {
				return nil
			}
			return list[found]
		}
		from, to := find(live), find(target)
		switch {
		case c.ignore(at) && !reflect.DeepEqual(from, to):
			return fmt.Errorf("%s: live %v, target %v", strings.Join(at, "/"), from, to)
		case from == nil:
			return nil
		}
		return c.spared(v, from, to, at)
	}
	if len(want) != len(live) || len(want) != len(target) {
		return nil
	}
	if c.ignore(at) {
		if !reflect.DeepEqual(live[i], target[i]) {
			return fmt.Errorf("%s: live %v, target %v", strings.Join(at, "/"), live[i], target[i])
		}
		return nil
	}
	err := c.spared(v, live[i], target[i], at)
	for j := 0; err != nil && j < len(live); j++ {
		if c.spared(v, live[j], target[i], at) == nil {
			err = nil
		}
	}
	return err
}

func TestIgnoredFieldsAreAsTheyWereInTheTarget(t *testing.T) {
	schemas, err := drift.NewSchemas()
	check.NoError(t, err)
	drifted, bad := 0, 0
	for seed := range uint64(20000) {
		g := generator{rand.New(rand.NewPCG(seed, 7))}
		desired := g.object()
		live := g.tamper(runtime.DeepCopyJSON(desired)).(map[string]any)
		opt := drift.Options{}
		keyed := map[string]bool{}
		if g.IntN(3) > 0 {
			keyed = map[string]bool{"containers": true, "env": true}
			opt.Schema = schemas.For(schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
		}
		fields, err := json.Marshal(g.claims(live))
		check.NoError(t, err)
		ignore := g.rules(desired)
		opt.Ignore = mustCompile(t, ignore...).For(manifest.Object{}).Bind(drift.NewOwnership(
			[]metav1.ManagedFieldsEntry{{Manager: "keda-operator", FieldsV1: metav1.NewFieldsV1(string(fields))}},
			desired, live))
		result := drift.Compare(desired, live, opt)
		if result.Target == nil {
			continue
		}
		drifted++
		if err := (checker{opt.Ignore, keyed}).spared(desired, live, result.Target, nil); err != nil {
			bad++
			if bad <= 3 {
				text := func(v any) string { b, _ := json.Marshal(v); return string(b) }
				t.Errorf("seed %d: %v\ndesired %s\nlive    %s\ntarget  %s\nrules   %s\nfields  %s\nchanges %v",
					seed, err, text(desired), text(live), text(result.Target), text(ignore), fields, result.Changes)
			}
		}
		if again := drift.Compare(desired, result.Target, opt); len(again.Changes) > 0 {
			bad++
			t.Errorf("seed %d: there is drift in the target: %v", seed, again.Changes)
		}
	}
	t.Logf("%d of 20000 drifted, %d violations", drifted, bad)
}

func TestIgnoredFieldsWhereTheObjectIsPutRight(t *testing.T) {
	schemas, err := drift.NewSchemas()
	check.NoError(t, err)
	for name, test := range map[string]struct{ kind, pointer, desired, live, target string }{
		"a key of a merged list cannot be ignored": {
			"Pod", "/spec/containers/*/name",
			`{spec: {containers: [{name: a, image: x}, {name: b, image: x}]}}`,
			`{spec: {containers: [{name: a2, image: x, tty: true}, {name: b, image: x}]}}`,
			`{spec: {containers: [{name: a, image: x, tty: true}, {name: b, image: x}]}}`,
		},
		"an ignored element of an atomic list is not taken for another one": {
			"Any", "/list/2",
			`{list: [{v: 1}, {v: 2}, {v: 3}]}`, `{list: [{v: 9}, {v: 3}]}`, `{list: [{v: 1}, {v: 2}, {v: 3}]}`,
		},
		"a map that is missing in an element of an atomic list comes back without what is ignored": {
			"Any", "/list/*/m/x",
			`{list: [{k: 1, m: {x: 1, y: 1}}]}`, `{list: [{k: 1}]}`, `{list: [{k: 1, m: {y: 1}}]}`,
		},
		"an element moved in an atomic list takes what is ignored along": {
			"Any", "/list/*/x",
			`{list: [{k: 1, x: 0}, {k: 2, x: 0}]}`, `{list: [{k: 2, x: 7}, {k: 1, x: 8}]}`,
			`{list: [{k: 1, x: 8}, {k: 2, x: 7}]}`,
		},
		"an element that is missing in a merged list comes back whole": {
			"Pod", "/spec/containers/*/image",
			`{spec: {containers: [{name: a, image: x}, {name: b, image: x}]}}`,
			`{spec: {containers: [{name: b, image: y}]}}`,
			`{spec: {containers: [{name: a, image: x}, {name: b, image: y}]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			desired, live := fixture.Object(t, test.desired), fixture.Object(t, test.live)
			target := fixture.Object(t, test.target)
			opt := drift.Options{Schema: schemas.For(schema.GroupVersionKind{Version: "v1", Kind: test.kind}),
				Ignore: mustCompile(t,
					v1alpha1.IgnoreRule{Paths: []string{test.pointer}}).For(manifest.Object{}).Bind(nil)}
			got := drift.Compare(desired, live, opt)
			check.That(t, reflect.DeepEqual(got.Target, target), "got %v, want %v", got.Target, target)
			again := drift.Compare(desired, got.Target, opt)
			check.That(t, len(again.Changes) == 0, "the target differs: %v", again.Changes)
		})
	}
}

func FuzzIgnoreRules(f *testing.F) {
	f.Add("/spec/*/a~1b", "/a/b", "keda-*", "Deploy(ment)?", "app in (a,b),!c", "spec\x00x\x00a/b", "Deployment")
	f.Add("", "/", "?*", `\Q(`, "a!=b", "", "")
	f.Add("/~", "/*/*/*", "", "(", "a=", "a\nb\x00c", "\n")
	f.Fuzz(func(t *testing.T, pointer, other, manager, expression, selector, at, name string) {
		ignore := []v1alpha1.IgnoreRule{
			{Paths: []string{pointer, other},
				Target: &v1alpha1.IgnoreTarget{Name: expression, LabelSelector: selector}},
			{Paths: []string{other}, Managers: []string{manager}},
			{Managers: []string{manager},
				Target: &v1alpha1.IgnoreTarget{Kind: expression, AnnotationSelector: selector}},
		}
		r, err := Compile(ignore)
		if err != nil {
			check.Must(t, r == nil && strings.HasPrefix(err.Error(), "spec.ignore[") && len(err.Error()) <= 8<<10,
				"%v and %q", r, err)
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
		check.Must(t,
			m.Keeps(name) == second.Keeps(name) && m.Whole() == second.Whole() && m.Describe() == second.Describe(),
			"the same rules differ")
		if strings.ContainsAny(manager, "*?") == false && m.Keeps(name) && name != manager {
			t.Fatalf("%q is not %q", name, manager)
		}
	})
}
