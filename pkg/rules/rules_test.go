package rules

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func mustCompile(t testing.TB, ignore ...v1alpha1.IgnoreRule) *Rules {
	t.Helper()
	r, err := Compile(ignore)
	check.NoError(t, err)
	return r
}

// parse reads a rule as a user writes it.
func parse(t testing.TB, text string) v1alpha1.IgnoreRule {
	t.Helper()
	var r v1alpha1.IgnoreRule
	err := yaml.UnmarshalStrict([]byte(text), &r)
	check.Must(t, err == nil, "%s: %v", text, err)
	return r
}

func object(apiVersion, kind string, id types.NamespacedName, labels, annotations map[string]any) manifest.Object {
	gvk := schema.FromAPIVersionAndKind(apiVersion, kind)
	return manifest.Object{
		ID:      manifest.ID{Group: gvk.Group, Kind: kind, Namespace: id.Namespace, Name: id.Name},
		GVK:     gvk,
		Content: map[string]any{"metadata": map[string]any{"labels": labels, "annotations": annotations}},
	}
}

func TestTargets(t *testing.T) {
	web := object("apps/v1", "Deployment", types.NamespacedName{Namespace: "shop", Name: "web-1"},
		map[string]any{"app": "web", "tier": "front", "n": "7", "odd": true},
		map[string]any{"example.com/owner": "team a", "level": "3"})
	config := object("v1", "ConfigMap", types.NamespacedName{Namespace: "shop", Name: "web"}, nil, nil)
	role := object("rbac.authorization.k8s.io/v1", "ClusterRole", types.NamespacedName{Name: "a\nb"}, nil, nil)
	for _, test := range []struct{ target, selected string }{
		{`{}`, "web config role"},
		{`{group: apps}`, "web"},
		{`{group: app}`, ""},
		{`{group: pps}`, ""},
		{`{group: ".*"}`, "web config role"},
		{`{group: ".+"}`, "web role"},
		{`{group: ""}`, "web config role"},
		{`{version: v1}`, "web config role"},
		{`{version: "v1(beta1)?"}`, "web config role"},
		{`{version: v1beta1}`, ""},
		{`{kind: Deployment|ConfigMap}`, "web config"},
		{`{kind: Deploy|Deployment}`, "web"}, // all of the text, whichever alternative comes first
		{`{kind: Config}`, ""},
		{`{kind: config}`, ""},
		{`{kind: "(?i)configmap"}`, "config"},
		{`{kind: '\QConfigMap'}`, "config"},
		{`{kind: '\QConfig'}`, ""},
		{`{kind: '^ConfigMap$'}`, "config"},
		{`{kind: '.*?'}`, "web config role"},
		{`{name: "web(-[0-9]+)?"}`, "web config"},
		{`{name: web.*}`, "web config"},
		{`{name: '.*'}`, "web config"}, // a dot is no line break
		{`{name: '(?s).*'}`, "web config role"},
		{`{name: '(?m)a$'}`, ""},
		{`{name: b}`, ""},
		{`{namespace: shop}`, "web config"},
		{`{namespace: "sh.p|other"}`, "web config"},
		{`{namespace: .}`, ""},
		{`{labelSelector: app=web}`, "web"},
		{`{labelSelector: "app==web,tier in (front, back)"}`, "web"},
		{`{labelSelector: "app=web,tier notin (front)"}`, ""},
		{`{labelSelector: app!=web}`, "config role"},
		{`{labelSelector: app}`, "web"},
		{`{labelSelector: "!app"}`, "config role"},
		{`{labelSelector: n>6}`, "web"},
		{`{labelSelector: n<7}`, ""},
		{`{labelSelector: odd}`, ""}, // not text, so that no live object has it
		{`{labelSelector: " "}`, "web config role"},
		{`{labelSelector: level=3}`, ""}, // an annotation
		{`{annotationSelector: level=3}`, "web"},
		{`{annotationSelector: example.com/owner}`, "web"},
		{`{annotationSelector: "!example.com/owner"}`, "config role"},
		{`{annotationSelector: app}`, ""},
		{`{kind: Deployment, name: other}`, ""},
		{`{kind: Deployment, labelSelector: app=web, annotationSelector: level, namespace: shop, version: v1, group: apps, name: web-1}`, "web"},
	} {
		r := mustCompile(t, parse(t, "{paths: [/x], target: "+test.target+"}"))
		var selected []string
		for _, o := range []struct {
			name   string
			object manifest.Object
		}{{"web", web}, {"config", config}, {"role", role}} {
			if r.For(o.object) != nil {
				selected = append(selected, o.name)
			}
		}
		check.Equal(t, strings.Join(selected, " "), test.selected, "%s selects", test.target)
	}
	r := mustCompile(t, parse(t, "{paths: [/x]}"))
	check.That(t, r.For(manifest.Object{}) != nil, "no target does not select an object without content")
}

func TestNoRulesMatchNothing(t *testing.T) {
	var none *Rules
	for _, r := range []*Rules{none, mustCompile(t), {}} {
		m := r.For(object("v1", "ConfigMap", types.NamespacedName{Namespace: "a", Name: "b"}, nil, nil))
		check.That(t,
			m == nil && !m.Whole() && !m.Deletion() && !m.NeedsOwnership() && m.Bind(nil) == nil && !m.Keeps("a") &&
				m.Paths() == nil && m.Describe() == "", "%v matches something", r)
	}
}

func TestCompileNamesEveryBadPart(t *testing.T) {
	good := parse(t, "{paths: [/a]}")
	for _, test := range []struct{ rule, want string }{
		{`{}`, `spec.ignore[1]: an ignore rule needs paths, managers or deletion; use the path "" to ignore whole objects`},
		{`{target: {kind: A}}`, `spec.ignore[1]: an ignore rule needs`},
		{`{paths: [/a, b]}`, `spec.ignore[1].paths[1]: "b": a path is empty or begins with a slash`},
		{`{paths: [/a~]}`, `spec.ignore[1].paths[0]: "/a~": a tilde in a key is written ~0, a slash ~1`},
		{`{paths: [/a~2b]}`, `spec.ignore[1].paths[0]`},
		{`{paths: [/~0~]}`, `spec.ignore[1].paths[0]`},
		{`{paths: [/a/~01/~~]}`, `spec.ignore[1].paths[0]`},
		{`{managers: [a, ""]}`, `spec.ignore[1].managers[1]: a manager has a name`},
		{`{paths: [""], target: {group: "("}}`, `spec.ignore[1].target.group: "(" is no regular expression: missing closing )`},
		{`{paths: [""], target: {version: "a**"}}`,
			`spec.ignore[1].target.version: "a**" is no regular expression: invalid nested repetition operator`},
		{`{paths: [""], target: {kind: "*"}}`, `spec.ignore[1].target.kind: "*" is no regular expression: missing argument to repetition operator`},
		{`{paths: [""], target: {name: "[z-a]"}}`, `spec.ignore[1].target.name`},
		{`{paths: [""], target: {namespace: "(?=a)"}}`, `spec.ignore[1].target.namespace`},
		{`{paths: [""], target: {name: "((a{1000}){1000})"}}`, `spec.ignore[1].target.name`},
		{`{paths: [""], target: {name: "a)(b"}}`, `spec.ignore[1].target.name`},
		{`{paths: [""], target: {labelSelector: "a in b"}}`,
			`spec.ignore[1].target.labelSelector: "a in b" is no label selector`},
		{`{paths: [""], target: {labelSelector: "-a"}}`, `spec.ignore[1].target.labelSelector`},
		{`{paths: [""], target: {annotationSelector: "a=b c"}}`,
			`spec.ignore[1].target.annotationSelector: "a=b c" is no label selector`},
	} {
		r, err := Compile([]v1alpha1.IgnoreRule{good, parse(t, test.rule)})
		check.That(t, r == nil && err != nil && strings.Contains(err.Error(), test.want), "%s: want %q, got %v",
			test.rule, test.want, err)
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: more than one error: %v", test.rule, err)
		}
	}
	_, err := Compile([]v1alpha1.IgnoreRule{parse(t, `{paths: [b], target: {kind: "(", name: ")"}}`), good,
		parse(t, `{}`)})
	for _, want := range []string{"spec.ignore[0].paths[0]:", "spec.ignore[0].target.kind:",
		"spec.ignore[0].target.name:", "spec.ignore[2]:"} {
		check.That(t, strings.Contains(fmt.Sprint(err), want), "%q is not in %v", want, err)
	}
}

func TestTheErrorIsBounded(t *testing.T) {
	bad := v1alpha1.IgnoreRule{}
	for range v1alpha1.MaxIgnorePaths {
		bad.Paths = append(bad.Paths, "no\npath "+strings.Repeat("ü", 1<<16))
	}
	_, err := Compile(repeat(bad, 3))
	lines := strings.Split(fmt.Sprint(err), "\n")
	check.That(t,
		len(lines) == maxErrors+1 && len(err.Error()) <= 8<<10 &&
			lines[maxErrors] == fmt.Sprintf("spec.ignore: %d more errors", 3*64-maxErrors), "%d lines, %d bytes, the last is %q",
		len(lines), len(err.Error()), lines[len(lines)-1])
	for name, ignore := range map[string][]v1alpha1.IgnoreRule{
		"spec.ignore: at most 64 rules":                repeat(parse(t, "{paths: [/a]}"), 65),
		"spec.ignore[0].paths: at most 64 are allowed": {{Paths: repeat("/a", 65)}},
		"spec.ignore[0].managers: at most 64 are":      {{Managers: repeat("a", 65)}},
		"spec.ignore[0].paths[0]: at most 4096 bytes":  {{Paths: []string{"/" + strings.Repeat("a", 4096)}}},
		"spec.ignore[0].managers[1]: at most 512":      {{Managers: []string{"a", strings.Repeat("*", 513)}}},
		"spec.ignore[0].target.name: at most 1024": {{Paths: []string{"/a"},
			Target: &v1alpha1.IgnoreTarget{Name: strings.Repeat("(a*)*", 300)}}},
		"spec.ignore[0].target.labelSelector: at most": {{Paths: []string{"/a"},
			Target: &v1alpha1.IgnoreTarget{LabelSelector: strings.Repeat("a,", 3000)}}},
	} {
		_, err := Compile(ignore)
		check.That(t, err != nil && strings.Contains(err.Error(), name), "want %q, got %v", name, err)
	}
}

func repeat[T any](v T, n int) []T {
	list := make([]T, n)
	for i := range list {
		list[i] = v
	}
	return list
}

func TestWhatIsCompiledIsItsOwn(t *testing.T) {
	ignore := []v1alpha1.IgnoreRule{{Paths: []string{"/a"}, Managers: []string{"keda"}}}
	r := mustCompile(t, ignore...)
	ignore[0].Paths[0], ignore[0].Managers[0] = "/b", "other"
	m := r.For(manifest.Object{})
	check.That(t, m.Describe() == "/a while owned by keda", "got %q", m.Describe())
}

// Only a rule for the kind and the name names an object.
func TestNames(t *testing.T) {
	o := manifest.Object{GVK: schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Rollout"},
		ID: manifest.ID{Group: "argoproj.io", Kind: "Rollout", Namespace: "apps", Name: "web"}}
	for name, c := range map[string]struct {
		target *v1alpha1.IgnoreTarget
		want   bool
	}{
		"everything":        {nil, false},
		"a kind":            {&v1alpha1.IgnoreTarget{Kind: "Rollout"}, false},
		"a kind and a name": {&v1alpha1.IgnoreTarget{Kind: "Rollout", Name: "web"}, true},
		"another name":      {&v1alpha1.IgnoreTarget{Kind: "Rollout", Name: "api"}, false},
		"another kind":      {&v1alpha1.IgnoreTarget{Kind: "Deployment", Name: "web"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Compile([]v1alpha1.IgnoreRule{{Paths: []string{"/spec/replicas"}, Target: c.target}})
			check.NoError(t, err)
			check.Equal(t, r.Names(o), c.want)
		})
	}
	check.That(t, !(*Rules)(nil).Names(o), "no rules name an object")
}
