package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// Users look a condition reason or an event up in docs/troubleshooting.md.
func TestEveryReasonIsInTroubleshooting(t *testing.T) {
	text := read(t, "docs/troubleshooting.md")
	reasons := constants(t, "Reason")
	events := constants(t, "EventReason")
	check.Must(t, len(reasons) >= 20 && len(events) >= 15, "found only %d reasons and %d events", len(reasons),
		len(events))
	for name, value := range reasons {
		check.That(t, strings.Contains(text, "\n### "+value+"\n"),
			"docs/troubleshooting.md has no section about %s (%s): what it means, and what to do", value, name)
	}
	for name, value := range events {
		named := strings.Contains(text, "`"+value+"`") || strings.Contains(text, "\n### "+value+"\n")
		check.That(t, named,
			"docs/troubleshooting.md does not have the event %s (%s)", value, name)
	}
}

// Sections about removed reasons are removed.
func TestTroubleshootingHasNoOtherReasons(t *testing.T) {
	text := read(t, "docs/troubleshooting.md")
	_, section, _ := strings.Cut(text, "\n## Condition reasons\n")
	section, _, _ = strings.Cut(section, "\n## ")
	known := map[string]bool{}
	for _, value := range constants(t, "Reason") {
		known[value] = true
	}
	for line := range strings.SplitSeq(section, "\n") {
		if name, ok := strings.CutPrefix(line, "### "); ok && !known[name] {
			t.Errorf("docs/troubleshooting.md explains %s, which is no reason", name)
		}
	}
}

// constants returns the string constants of the API package that begin with a prefix and an upper-case letter, by
// name.
func constants(t *testing.T, prefix string) map[string]string {
	t.Helper()
	dir := filepath.Join(root, "pkg/apis/helm.cattle.io/v1alpha1")
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	check.Must(t, err == nil && len(files) > 0, "no files in %s: %v", dir, err)
	found := map[string]string{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		check.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != len(spec.Names) {
				return true
			}
			for i, name := range spec.Names {
				literal, ok := spec.Values[i].(*ast.BasicLit)
				if !ok || literal.Kind != token.STRING || !strings.HasPrefix(name.Name, prefix) {
					continue
				}
				if value, err := strconv.Unquote(literal.Value); err == nil {
					found[name.Name] = value
				}
			}
			return true
		})
	}
	return found
}
