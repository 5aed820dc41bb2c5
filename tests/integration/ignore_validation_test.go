package integration

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"

	"github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/rules"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

func TestIgnoreRulesAreValidatedAtCreation(t *testing.T) {
	e := kit.New(t, kit.Shared)
	t.Run("bad ones are refused by name", func(t *testing.T) { refusesBadRules(e.For(t)) })
	t.Run("good ones are accepted, and compile", func(t *testing.T) { acceptsGoodRules(e.For(t)) })
	t.Run("the compiler is stricter with selectors", func(t *testing.T) { reportsWhatTheServerCannotSee(e.For(t)) })
	t.Run("the examples of the documentation are accepted, and compile",
		func(t *testing.T) { acceptsDocumentedRules(e.For(t)) })
}

// withRules returns a HelmRelease with spec.ignore as it is written in text.
func withRules(t testing.TB, text string) map[string]any {
	t.Helper()
	var ignore []any
	err := yaml.Unmarshal([]byte(text), &ignore)
	check.Must(t, err == nil, "%s: %v", text, err)
	return map[string]any{"spec": map[string]any{"release": map[string]any{"name": "a", "namespace": "a"},
		"ignore": ignore}}
}

// compiles hands the rules of a HelmRelease to the operator's compiler.
func compiles(e *kit.Env, object map[string]any) error {
	e.Helper()
	data, err := yaml.Marshal(object)
	check.NoError(e, err)
	var typed v1alpha1.HelmRelease
	check.NoError(e, yaml.UnmarshalStrict(data, &typed))
	_, err = rules.Compile(typed.Spec.Ignore)
	return err
}

func refusesBadRules(e *kit.Env) {
	list := func(n int, item string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
	}
	for _, test := range []struct{ name, rule, want string }{
		{"nothing", `{}`, `spec.ignore[1]: Invalid value`},
		{"a target only", `{target: {kind: A}}`, `an ignore rule needs paths, managers or deletion; use the path "" to ignore whole objects`},
		{"empty lists", `{paths: [], managers: []}`, `spec.ignore[1]: Invalid value`},
		{"a path without a slash", `{paths: [/a, spec]}`, `spec.ignore[1].paths[1]: Invalid value`},
		{"a dotted path", `{paths: [.spec.replicas]}`, `a path is a JSON pointer`},
		{"a tilde that escapes nothing", `{paths: [/a~b]}`, `spec.ignore[1].paths[0]: Invalid value`},
		{"a tilde at the end", `{paths: [/a~]}`, `spec.ignore[1].paths[0]: Invalid value`},
		{"a path too long", `{paths: ["/` + strings.Repeat("a", 1024) + `"]}`, `spec.ignore[1].paths[0]: Too long`},
		{"too many paths", `{paths: ` + list(65, "/a") + `}`, `spec.ignore[1].paths: Too many`},
		{"no manager", `{managers: [""]}`, `spec.ignore[1].managers[0]`},
		{"a manager too long", `{managers: [` + strings.Repeat("a", 129) + `]}`, `spec.ignore[1].managers[0]: Too long`},
		{"too many managers", `{managers: ` + list(65, "a") + `}`, `spec.ignore[1].managers: Too many`},
		{"a group", `{paths: [/a], target: {group: "("}}`, `spec.ignore[1].target.group: Invalid value`},
		{"a version", `{paths: [/a], target: {version: "["}}`, `spec.ignore[1].target.version: Invalid value`},
		{"a kind", `{paths: [/a], target: {kind: "*"}}`, `spec.ignore[1].target.kind: Invalid value`},
		{"a name", `{paths: [/a], target: {name: "(?=a)"}}`, `spec.ignore[1].target.name: Invalid value`},
		{"a namespace", `{paths: [/a], target: {namespace: "a{2,1}"}}`, `spec.ignore[1].target.namespace: Invalid value`},
		{"an expression too long", `{paths: [/a], target: {name: ` + strings.Repeat("a", 257) +
			`}}`, `spec.ignore[1].target.name: Too long`},
		{"a label selector", `{paths: [/a], target: {labelSelector: "a in b"}}`,
			`spec.ignore[1].target.labelSelector: Invalid value`},
		{"two words", `{paths: [/a], target: {labelSelector: "a b"}}`, `labelSelector must be a label selector`},
		{"an open parenthesis", `{paths: [/a], target: {labelSelector: "a in (b"}}`,
			`spec.ignore[1].target.labelSelector: Invalid value`},
		{"an annotation selector", `{paths: [/a], target: {annotationSelector: "a=b c"}}`,
			`spec.ignore[1].target.annotationSelector: Invalid value`},
		{"a selector too long", `{paths: [/a], target: {labelSelector: ` + strings.Repeat("a", 1025) +
			`}}`, `spec.ignore[1].target.labelSelector: Too long`},
	} {
		err := tryHelmRelease(e, withRules(e, "[{paths: [/good]}, "+test.rule+"]"))
		check.That(e, apierrors.IsInvalid(err) && strings.Contains(err.Error(), test.want),
			"%s: want an error with %q, got %v", test.name, test.want, err)
	}
	err := tryHelmRelease(e, withRules(e, list(v1alpha1.MaxIgnoreRules+1, "{paths: [/a]}")))
	check.That(e, apierrors.IsInvalid(err) && strings.Contains(err.Error(), "spec.ignore: Too many"), "got %v", err)
}

func acceptsGoodRules(e *kit.Env) {
	full := make([]string, v1alpha1.MaxIgnoreRules)
	for i := range full {
		full[i] = fmt.Sprintf(`{paths: [%s], managers: [%s]}`, strings.Repeat("/a, ", 63)+"/"+
			strings.Repeat("b", 1023), strings.Repeat("m, ", 63)+strings.Repeat("n", 128))
	}
	for _, text := range []string{
		`[]`,
		`[{paths: [""]}]`, `[{paths: ["/", "//", "/*", "/a~0~1", "/ä b", "/\n"]}]`, `[{managers: ["*", "a?", "ä"]}]`,
		`[{paths: [/a], managers: []}]`,
		`[{paths: [/a], target: {}}]`, `[{paths: [/a], target: {group: "", version: ".*", kind: A|B, name: "(?i)a", namespace: '\Qa'}}]`,
		`[{paths: [/a], target: {labelSelector: "", annotationSelector: " "}}]`,
		`[{paths: [/a], target: {labelSelector: "a"}}, {paths: [/a], target: {labelSelector: "!a"}}, {paths: [/a], target: {labelSelector: "a=b,c==d,e!=f"}}]`,
		`[{paths: [/a], target: {labelSelector: "a.b/c in (d, e),f notin (g),h>1,i<2"}}, {paths: [/a], target: {annotationSelector: "example.com/a = b"}}]`,
		`[{paths: [/a], target: {labelSelector: "a="}}, {paths: [/a], target: {labelSelector: "a in (b,)"}}]`,
		"[" + strings.Join(full, ",") + "]",
	} {
		object := withRules(e, text)
		err := tryHelmRelease(e, object)
		check.That(e, err == nil, "%.200s: %v", text, err)
		err = compiles(e, object)
		check.That(e, err == nil, "%.200s: %v", text, err)
	}
}

// reportsWhatTheServerCannotSee: the server checks the form of a selector, not whether a label could ever match it.
func reportsWhatTheServerCannotSee(e *kit.Env) {
	for _, selector := range []string{"a=b-", "-a", "a/b/c", "a>b", "a=" + strings.Repeat("b", 64)} {
		object := withRules(e, "[{paths: [/a], target: {labelSelector: '"+selector+"'}}]")
		err := tryHelmRelease(e, object)
		check.That(e, err == nil, "%s: %v", selector, err)
		err = compiles(e, object)
		check.That(e, err != nil && strings.HasPrefix(err.Error(), "spec.ignore[0].target.labelSelector: "), "%s: %v",
			selector, err)
	}
}

func acceptsDocumentedRules(e *kit.Env) {
	data, err := os.ReadFile("../../docs/reference.md")
	check.NoError(e, err)
	var objects []map[string]any
	for _, block := range regexp.MustCompile("(?s)\n```yaml\n(.*?)\n```\n").FindAllStringSubmatch(string(data), -1) {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(block[1]), &object); err != nil {
			e.Fatalf("%s: %v", block[1], err)
		}
		if object["kind"] == nil {
			continue // only a spec
		}
		objects = append(objects, object)
	}
	for _, rule := range regexp.MustCompile("(?m)^\\|.*\\| `(\\{.*\\})` \\|$").FindAllStringSubmatch(string(data), -1) {
		objects = append(objects, withRules(e, "["+rule[1]+"]"))
	}
	check.Must(e, len(objects) >= 14, "only %d examples were found", len(objects))
	for _, object := range objects {
		err := tryHelmRelease(e, object)
		check.That(e, err == nil, "%v: %v", object["spec"], err)
		err = compiles(e, object)
		check.That(e, err == nil, "%v: %v", object["spec"], err)
	}
}
