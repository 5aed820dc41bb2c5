package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// The path from a watch event to a write stays short enough to be read at one sitting, and the table of it true.
func TestThePathOfADriftIsShort(t *testing.T) {
	const maxFunctions, maxFiles = 35, 15
	page, err := os.ReadFile(filepath.Join(root, "docs/architecture.md"))
	check.NoError(t, err)
	_, section, found := strings.Cut(string(page), "### The functions on that path\n")
	section, _, _ = strings.Cut(section, "\n## ")
	rows := regexp.MustCompile("(?m)^\\| `(pkg/[^`]+)` \\| (.*) \\|$").FindAllStringSubmatch(section, -1)
	if !found || len(rows) == 0 {
		t.Fatal("docs/architecture.md has no table of the functions")
	}
	functions := 0
	for _, row := range rows {
		source, err := os.ReadFile(filepath.Join(root, row[1]))
		check.NoError(t, err)
		for _, name := range strings.Split(row[2], ", ") {
			functions++
			declared := `(?m)^func (\([^)]*\) )?` + strings.Trim(name, "`") + `[(\[]`
			if !regexp.MustCompile(declared).Match(source) {
				t.Errorf("%s has no function %s", row[1], name)
			}
		}
	}
	if functions > maxFunctions || len(rows) > maxFiles {
		t.Errorf("%d functions in %d files, want at most %d in %d", functions, len(rows), maxFunctions, maxFiles)
	}
	t.Logf("%d functions in %d files", functions, len(rows))
}
