package rules

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestGlobs(t *testing.T) {
	for _, test := range []struct {
		pattern, text string
		want          bool
	}{
		{"keda", "keda", true}, {"keda", "keda-operator", false}, {"keda", "Keda", false}, {"eda", "keda", false},
		{"keda-*", "keda-operator", true}, {"keda-*", "keda-", true}, {"keda-*", "keda", false},
		{"*", "", true}, {"*", "anything at all", true}, {"**", "a", true}, {"", "", true}, {"", "a", false},
		{"*-controller", "cert-controller", true}, {"*-controller", "cert-controllers", false},
		{"*controller*", "kube-controller-manager", true},
		{"?", "a", true}, {"?", "", false}, {"?", "ab", false}, {"?", "ü", true}, {"??", "ü", false},
		{"a?c", "abc", true}, {"a?", "a", false},
		{"*?", "a", true}, {"*?", "", false}, {"?*?", "ab", true}, {"?*?", "a", false}, {"*ü?", "xüy", true},
		{"*é", "è", false},
		{"a*b*c", "a-b-b-c", true}, {"a*b*c", "a-c-b", false}, {"*aab", "aaaab", true}, {"*\n*", "a\nb", true},
		{"a.b", "axb", false}, {"[a]", "a", false},
		{`\*`, "*", false}, {strings.Repeat("*a", 60) + "b", strings.Repeat("a", 128), false},
	} {
		check.Equal(t, Glob(test.pattern, test.text), test.want, "%q on %q", test.pattern, test.text)
	}
}

func TestPaths(t *testing.T) {
	for _, test := range []struct {
		pointer string
		covered [][]string
		spared  [][]string
	}{
		{"/spec/replicas", [][]string{{"spec", "replicas"}, {"spec", "replicas", "x"}},
			[][]string{{}, {"spec"}, {"spec", "replica"}, {"spec", "x", "replicas"}}},
		{"/spec", [][]string{{"spec"}, {"spec", "a"}}, [][]string{{"specs"}, {"a", "spec"}}},
		{"/a~1b", [][]string{{"a/b"}, {"a/b", "c"}}, [][]string{{"a", "b"}, {"a~1b"}}},
		{"/a~0b", [][]string{{"a~b"}}, [][]string{{"a~0b"}}},
		{"/a~01", [][]string{{"a~1"}}, [][]string{{"a/"}, {"a~01"}}},
		{"/a~10", [][]string{{"a/0"}}, [][]string{{"a~0"}, {"a/"}}},
		{"/~0~1~1~0", [][]string{{"~//~"}}, nil},
		{"/a/*/c", [][]string{{"a", "b", "c"}, {"a", "0", "c"}, {"a", "", "c", "d"}, {"a", "*", "c"}},
			[][]string{{"a", "b"}, {"a", "c"}, {"a", "b", "b", "c"}}},
		{"/*", [][]string{{"a"}, {"b", "c"}, {""}}, [][]string{{}}},
		{"/*/*", [][]string{{"a", "b"}}, [][]string{{"a"}}},
		{"/a*", [][]string{{"a*"}}, [][]string{{"ab"}, {"a"}}},
		{"/**", [][]string{{"**"}}, [][]string{{"a"}}},
		{"/", [][]string{{""}, {"", "a"}}, [][]string{{}, {"a"}}},
		{"//a", [][]string{{"", "a"}}, [][]string{{"a"}}},
		{"/a/", [][]string{{"a", ""}}, [][]string{{"a"}, {"a", "b"}}},
		{"/l/0/x", [][]string{{"l", "0", "x"}}, [][]string{{"l", "1", "x"}, {"l", "00", "x"}}},
		{"/l/-", [][]string{{"l", "-"}}, [][]string{{"l", "0"}}},
		{"/a\nb", [][]string{{"a\nb"}}, [][]string{{"a"}}},
		{"/metadata/annotations/example.com~1hash", [][]string{{"metadata", "annotations", "example.com/hash"}}, nil},
	} {
		m := mustCompile(t, v1alpha1.IgnoreRule{Paths: []string{test.pointer}}).For(manifest.Object{})
		ignore := m.Bind(nil)
		for _, at := range test.covered {
			check.That(t, ignore(at), "%q does not cover %q", test.pointer, at)
		}
		for _, at := range test.spared {
			check.That(t, !ignore(at), "%q covers %q", test.pointer, at)
		}
		if m.Whole() || m.NeedsOwnership() || m.Keeps("x") || !slices.Equal(m.Paths(), []string{test.pointer}) ||
			m.Describe() != "" {
			t.Errorf("%q: %v %v %q %q", test.pointer, m.Whole(), m.NeedsOwnership(), m.Paths(), m.Describe())
		}
	}
}

// liveOwners: helm owns the image, keda the replicas, and both the paused.
func liveOwners() *drift.Ownership {
	entry := func(manager, fields string) metav1.ManagedFieldsEntry {
		e := metav1.ManagedFieldsEntry{Manager: manager, FieldsV1: metav1.NewFieldsV1(fields)}
		return e
	}
	desired := map[string]any{"spec": map[string]any{"replicas": int64(1), "image": "a", "paused": true}}
	return drift.NewOwnership([]metav1.ManagedFieldsEntry{
		entry("helm", `{"f:spec":{"f:image":{},"f:paused":{}}}`),
		entry("keda-operator", `{"f:spec":{"f:replicas":{},"f:paused":{}}}`),
	}, desired, desired)
}

func TestManagers(t *testing.T) {
	for name, test := range map[string]struct {
		rules                      []string
		ignored                    string // of replicas, image and paused
		keeps, needsNone, isWhole  bool
		pathsInStatus, description string
	}{
		"managers alone": {rules: []string{`{managers: [keda-*]}`}, ignored: "replicas paused", keeps: true,
			description: "all fields while owned by keda-*"},
		"managers and the root": {rules: []string{`{paths: [""], managers: [keda-*]}`}, ignored: "replicas paused",
			keeps: true, description: "all fields while owned by keda-*"},
		"managers and other paths": {rules: []string{`{paths: ["", /spec/image], managers: [keda-*]}`},
			ignored: "replicas paused", keeps: true, pathsInStatus: "/spec/image",
			description: "all fields while owned by keda-*"},
		"one of several": {rules: []string{`{managers: [x, keda-operator]}`}, ignored: "replicas paused",
			keeps: true, description: "all fields while owned by x, keda-operator"},
		"nobody of them": {rules: []string{`{managers: [keda]}`}, description: "all fields while owned by keda"},
		"at a path": {rules: []string{`{paths: [/spec/replicas], managers: [keda-*]}`}, ignored: "replicas",
			pathsInStatus: "/spec/replicas", description: "/spec/replicas while owned by keda-*"},
		"at a path above": {rules: []string{`{paths: [/spec], managers: [keda-*]}`}, ignored: "replicas paused",
			pathsInStatus: "/spec", description: "/spec while owned by keda-*"},
		"at a path of another": {rules: []string{`{paths: [/spec/image], managers: [keda-*]}`},
			pathsInStatus: "/spec/image", description: "/spec/image while owned by keda-*"},
		"at paths and without managers": {rules: []string{`{paths: [/spec/image]}`,
			`{paths: [/spec/replicas, /spec/image], managers: ["*"]}`}, ignored: "replicas image",
			pathsInStatus: "/spec/image /spec/replicas", description: "/spec/replicas, /spec/image while owned by *"},
		"any": {rules: []string{`{managers: ["*"]}`}, ignored: "replicas image paused",
			keeps: true, description: "all fields while owned by *"},
		"whole": {rules: []string{`{paths: [""]}`}, ignored: "replicas image paused", needsNone: true, isWhole: true},
		"whole and more": {rules: []string{`{paths: [/a, ""]}`, `{managers: [keda-*]}`},
			ignored: "replicas image paused", needsNone: true, isWhole: true, keeps: true},
		"paths need no ownership": {rules: []string{`{paths: [/spec/paused]}`}, ignored: "paused", needsNone: true,
			pathsInStatus: "/spec/paused"},
	} {
		t.Run(name, func(t *testing.T) {
			var ignore []v1alpha1.IgnoreRule
			for _, r := range test.rules {
				ignore = append(ignore, parse(t, r))
			}
			m := mustCompile(t, ignore...).For(manifest.Object{})
			bound := m.Bind(liveOwners())
			var ignored []string
			for _, field := range []string{"replicas", "image", "paused"} {
				if bound([]string{"spec", field}) {
					ignored = append(ignored, field)
				}
				if free := m.Bind(nil); free != nil && free([]string{"spec", field}) &&
					!bound([]string{"spec", field}) {
					t.Errorf("%s is ignored only without ownership", field)
				}
			}
			check.Equal(t, strings.Join(ignored, " "), test.ignored, "ignored")
			check.That(t, bound([]string{"spec"}) == test.isWhole && bound([]string{"data"}) == test.isWhole,
				"more is ignored than what they own")
			if m.Keeps("keda-operator") != test.keeps || m.NeedsOwnership() == test.needsNone || m.Whole() != test.isWhole {
				t.Errorf("keeps %v, needs ownership %v, whole %v", m.Keeps("keda-operator"), m.NeedsOwnership(), m.Whole())
			}
			got := strings.Join(m.Paths(), " ")
			check.That(t, got == test.pathsInStatus && m.Describe() == test.description, "in the status: %q, %q", got,
				m.Describe())
		})
	}
}

func TestRulesWithManagersIgnoreNothingWithoutOwnership(t *testing.T) {
	m := mustCompile(t, parse(t, `{managers: ["*"]}`)).For(manifest.Object{})
	check.That(t, m.Bind(nil) == nil, "something is ignored")
}

func TestMatchingAllocatesNothing(t *testing.T) {
	ignore := mustCompile(t, parse(t, `{paths: [/a/*/b, /spec/replicas]}`)).For(manifest.Object{}).Bind(nil)
	at, other := []string{"spec", "replicas"}, []string{"spec", "image"}
	n := testing.AllocsPerRun(100, func() {
		check.Must(t, ignore(at) && !ignore(other), "wrong answer")
	})
	check.That(t, n == 0, "%v allocations", n)
}

func TestAbsurdRules(t *testing.T) {
	start := time.Now()
	deep := strings.Repeat("/a", 512)
	var ignore []v1alpha1.IgnoreRule
	for i := range v1alpha1.MaxIgnoreRules {
		r := v1alpha1.IgnoreRule{Target: &v1alpha1.IgnoreTarget{
			Name: "(a|a)*" + strings.Repeat("(x*)*", 50), Kind: strings.Repeat(".*", 128), Namespace: "(?s)" +
				strings.Repeat("(a?){9}", 30),
		}}
		for j := range v1alpha1.MaxIgnorePaths {
			switch j % 3 {
			case 0:
				r.Paths = append(r.Paths, deep[:2*(512-i-j)])
			case 1:
				r.Paths = append(r.Paths, strings.Repeat("/*", 511)+"/z")
			default:
				r.Paths = append(r.Paths, strings.Repeat("/", 1023)+"\n")
			}
		}
		if i%2 == 0 {
			r.Managers = repeat(strings.Repeat("*a", 63)+"b", v1alpha1.MaxIgnorePaths)
		}
		ignore = append(ignore, r)
	}
	r := mustCompile(t, ignore...)
	m := r.For(object("v1", strings.Repeat("K", 1000),
		types.NamespacedName{Namespace: strings.Repeat("a", 20), Name: strings.Repeat("a", 1000)}, nil, nil))
	check.Must(t, m != nil && len(m.Paths()) == maxPaths && len(m.Describe()) <= maxDescription+40, "%v, %d bytes",
		m.Paths(), len(m.Describe()))
	ignored := m.Bind(liveOwners())
	path := repeat("a", 600)
	check.That(t, ignored(path) && !ignored(path[:300]) && !ignored(repeat("b", 600)) && !ignored(nil), "wrong answers")
	for range 1000 {
		ignored(path[:300])
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("it took %s", took)
	} else {
		t.Logf("compiled %d paths, matched an object and 1000 fields in %s", 64*64, took)
	}
}
