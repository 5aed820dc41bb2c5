package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

const root = "../.."

// Documents name the tests of their statements; a renamed test must not leave an unproven claim.
func TestEveryTestThatADocumentNamesExists(t *testing.T) {
	defined := map[string]bool{}
	declaration := regexp.MustCompile(`(?m)^func (Test\w+|Fuzz\w+|Benchmark\w+)\(`)
	walk(t, ".go", func(_, content string) {
		for _, m := range declaration.FindAllStringSubmatch(content, -1) {
			defined[m[1]] = true
		}
	})
	named := regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z]\\w*)`")
	count := 0
	walk(t, ".md", func(path, content string) {
		for _, m := range named.FindAllStringSubmatch(content, -1) {
			count++
			if !defined[m[1]] {
				t.Errorf("%s names %s, which does not exist", path, m[1])
			}
		}
	})
	check.That(t, count != 0, "no document names a test")
}

// Links between files of the repository lead somewhere.
func TestEveryRelativeLinkLeadsSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([\w./:-]+)(?:#[^)]*)?\)`)
	walk(t, ".md", func(path, content string) {
		for _, m := range link.FindAllStringSubmatch(content, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", path, m[1], err)
			}
		}
	})
}

// read returns a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, name)) // #nosec G304 -- files of this repository
	check.NoError(t, err)
	return string(content)
}

// walk passes every file of the repository with a suffix.
func walk(t *testing.T, suffix string, visit func(path, content string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), ".") {
			return filepath.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(path, suffix) {
			return nil
		}
		content, err := os.ReadFile(path) // #nosec G304 -- files of this repository
		if err != nil {
			return err
		}
		visit(path, string(content))
		return nil
	})
	check.NoError(t, err)
}
