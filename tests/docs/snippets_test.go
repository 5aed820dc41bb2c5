package docs

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/crd"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// The API server accepts every HelmRelease and HelmReleasePolicy copied from a document, without an unknown field.
func TestEveryHelmReleaseInTheDocuments(t *testing.T) {
	if shared == nil {
		t.Skip("needs a control plane")
	}
	config := shared.RESTConfig()
	check.NoError(t, crd.Create(t.Context(), config))
	client, err := dynamic.NewForConfig(config)
	check.NoError(t, err)
	list, err := pages()
	check.NoError(t, err)
	count := map[string]int{}
	for _, p := range list {
		for _, f := range p.yaml {
			for _, object := range ours(t, p.path, f) {
				u := &unstructured.Unstructured{Object: object}
				u.SetNamespace(metav1.NamespaceDefault)
				count[u.GetKind()]++
				options := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll},
					FieldValidation: metav1.FieldValidationStrict}
				resource := map[string]string{v1alpha1.Kind: v1alpha1.HelmReleaseResourceName,
					v1alpha1.PolicyKind: v1alpha1.PolicyResourceName}[u.GetKind()]
				of := client.Resource(v1alpha1.SchemeGroupVersion.WithResource(resource)).Namespace(u.GetNamespace())
				_, err := of.Create(t.Context(), u, options)
				check.That(t, err == nil, "%s:%d: %v", p.path, f.line, err)
			}
		}
	}
	check.That(t, count[v1alpha1.Kind] >= 3 && count[v1alpha1.PolicyKind] >= 3, "found only %v", count)
}

// ours returns the HelmReleases and HelmReleasePolicies in a block of YAML, also those in a ManifestWorkReplicaSet.
func ours(t *testing.T, path string, f fence) (found []map[string]any) {
	t.Helper()
	for _, document := range strings.Split(strings.Join(f.lines, "\n"), "\n---\n") {
		object := map[string]any{}
		if err := yaml.UnmarshalStrict([]byte(document), &object); err != nil {
			t.Errorf("%s:%d: %v", path, f.line, err)
			continue
		}
		parts, _, err := unstructured.NestedSlice(object, "spec", "manifestWorkTemplate", "workload", "manifests")
		check.NoError(t, err)
		for _, part := range append(parts, object) {
			inner, ok := part.(map[string]any)
			if ok && (helmRelease(inner) || isPolicy(inner)) {
				found = append(found, inner)
			}
		}
	}
	return found
}

func isPolicy(object map[string]any) bool {
	return object["kind"] == v1alpha1.PolicyKind && object["apiVersion"] == v1alpha1.SchemeGroupVersion.String()
}

// helmRelease reports whether a YAML document is a HelmRelease, or the spec of one, which it completes.
func helmRelease(object map[string]any) bool {
	if object["kind"] == v1alpha1.Kind && object["apiVersion"] == v1alpha1.SchemeGroupVersion.String() {
		return true
	}
	spec, ok := object["spec"].(map[string]any)
	if !ok || len(object) != 1 {
		return false
	}
	if _, ok := spec["release"]; !ok {
		return false
	}
	object["apiVersion"], object["kind"] = v1alpha1.SchemeGroupVersion.String(), v1alpha1.Kind
	object["metadata"] = map[string]any{"name": "example"}
	return true
}

// The Go code of the page about embedding is compiled, as a part of an example.
func TestTheCodeForEmbeddersCompiles(t *testing.T) {
	page := read(t, "docs/embedding.md")
	example := read(t, "pkg/operator/example_test.go")
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(page, -1)
	check.Must(t, len(blocks) >= 2, "docs/embedding.md has %d blocks of Go", len(blocks))
	for _, block := range blocks {
		if !strings.Contains(example, block[1]) {
			t.Errorf("this code of docs/embedding.md is not in pkg/operator/example_test.go, which compiles it:\n%s", block[1])
		}
	}
}

// The page for embedders contains every option.
func TestEveryOptionIsInThePageForEmbedders(t *testing.T) {
	page := read(t, "docs/embedding.md")
	for field := range reflect.TypeFor[operator.ControllerOptions]().Fields() {
		if field.IsExported() && !strings.Contains(page, "`"+field.Name+"`") {
			t.Errorf("docs/embedding.md does not have the option %s", field.Name)
		}
	}
}

var (
	heading  = regexp.MustCompile(`(?m)^#{1,6} +(.*?) *$`)
	anchored = regexp.MustCompile(`\]\(([\w./-]*)#([^)]+)\)`)
	marks    = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// Links to a heading lead to one.
func TestEveryAnchorLeadsSomewhere(t *testing.T) {
	walk(t, ".md", func(path, content string) {
		for _, m := range anchored.FindAllStringSubmatch(content, -1) {
			target := path
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(path), m[1])
			}
			if !strings.HasSuffix(target, ".md") {
				continue
			}
			text, err := os.ReadFile(target) // #nosec G304 -- files of this repository
			if err != nil {
				continue // TestEveryRelativeLinkLeadsSomewhere tells
			}
			if !anchors(string(text))[m[2]] {
				t.Errorf("%s links to %s#%s, and there is no such heading", path, m[1], m[2])
			}
		}
	})
}

// anchors returns GitHub's anchors for the headings of a page.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		name := strings.ToLower(marks.ReplaceAllString(m[1], ""))
		found[strings.ReplaceAll(name, " ", "-")] = true
	}
	return found
}
