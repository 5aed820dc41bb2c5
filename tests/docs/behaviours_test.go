package docs

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// Each row of docs/behaviours.md links to its tests. Every test of tests/neighbours has a row there or in
// docs/reference.md.
func TestBehavioursAreShownByTests(t *testing.T) {
	content := read(t, "docs/behaviours.md")
	reference := read(t, "docs/reference.md")
	page, _, _ := strings.Cut(content, "\n## What is real\n")
	link, shown := regexp.MustCompile("\\[`(Test\\w+)`\\]\\(([\\w./]+)\\)"), map[string]bool{}
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| | ") {
			continue
		}
		links := link.FindAllStringSubmatch(line, -1)
		check.That(t, len(links) > 0, "no test shows %s", line)
		for _, m := range links {
			shown[m[1]] = true
			code := read(t, filepath.Join("docs", m[2]))
			if !strings.Contains(code, "\nfunc "+m[1]+"(") {
				t.Errorf("%s is not in %s", m[1], m[2])
			}
		}
	}
	walk(t, ".go", func(path, content string) {
		for _, m := range regexp.MustCompile(`(?m)^func (TestNeighbour_\w+)`).FindAllStringSubmatch(content, -1) {
			if !shown[m[1]] && !strings.Contains(reference, "`"+m[1]+"`") {
				t.Errorf("docs/behaviours.md and docs/reference.md do not name %s of %s", m[1], path)
			}
		}
	})
}
