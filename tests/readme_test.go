// Package tests checks README.md of this directory against the tests.
package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func text(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	check.NoError(t, err)
	return string(content)
}

// row is a line of the table of suites.
type row struct{ suite, target, example string }

// suites returns the table of suites, without the one of pkg.
func suites(t *testing.T) []row {
	t.Helper()
	_, table, _ := strings.Cut(text(t, "README.md"), "\n## Suites\n")
	table, _, _ = strings.Cut(table, "\n## ")
	var rows []row
	cells := regexp.MustCompile(
		"(?m)^\\| \\[`([\\w/]+)`\\]\\([\\w/]+\\) \\| `(make [a-z-]+)` \\| [^|]+ \\| \\d+ min \\| `([^`]+)` \\|$",
	)
	for _, found := range cells.FindAllStringSubmatch(table, -1) {
		rows = append(rows, row{found[1], found[2], found[3]})
	}
	lines := strings.Count(table, "\n| [`")
	check.Must(t, len(rows) == lines && lines != 0, "%d of %d rows have the form of the others", len(rows), lines)
	return rows
}

func TestReadmeNamesEveryDirectory(t *testing.T) {
	readme := text(t, "README.md")
	for _, pattern := range []string{"*/*.*", "cmd/*/*.go", "lib/*/*.go"} {
		files, err := filepath.Glob(pattern)
		check.Must(t, err == nil && len(files) > 0, "%v %v", pattern, err)
		for _, file := range files {
			dir := filepath.Dir(file)
			check.That(t, strings.Contains(readme, "]("+dir+")"), "README.md does not say what %s is for", dir)
		}
	}
}

// TestReadmeSaysWhatRunsASuite compares the table with the list in scripts/test.
func TestReadmeSaysWhatRunsASuite(t *testing.T) {
	_, apart, _ := strings.Cut(text(t, "../scripts/test"), "\napart=(")
	apart, _, _ = strings.Cut(apart, ")\n")
	var names string
	for _, found := range regexp.MustCompile(`(?m)^(?:long|raced)=\(([a-z/ ]+)\)$`).
		FindAllStringSubmatch(text(t, "../scripts/test"), -1) {
		names += found[1] + " "
	}
	check.Must(t, names != "", "scripts/test has no list of long suites")
	long := strings.Fields(names)
	for _, suite := range suites(t) {
		want := "make test"
		if slices.Contains(long, suite.suite) {
			want = "make test-all"
		}
		if slices.Contains(strings.Fields(apart), suite.suite) {
			want = "make test-" + suite.suite
		}
		if suite.suite == "real" { // tests/neighbours has the stand-ins
			want = "make test-neighbours"
		}
		check.That(t, suite.target == want, "%s is run by %s, not by %s", suite.suite, want, suite.target)
		long = slices.DeleteFunc(long, func(name string) bool { return name == suite.suite })
	}
	// Programs have no row.
	long = slices.DeleteFunc(long, func(name string) bool { return strings.HasPrefix(name, "cmd/") })
	check.That(t, len(long) == 0, "the table lacks %v", long)
}

// TestReadmeExamplesRunATest: the packages of the examples exist, and have tests of those names.
func TestReadmeExamplesRunATest(t *testing.T) {
	example := regexp.MustCompile(`^go (test|run)(?: -run '?([^ /']+)\S*)? \./tests/([\w/]+)`)
	for _, suite := range suites(t) {
		parts := example.FindStringSubmatch(suite.example)
		if parts == nil {
			t.Errorf("%s: %s is no command that runs one test", suite.suite, suite.example)
			continue
		}
		check.That(t, parts[3] == suite.suite, "%s: %s is of another suite", suite.suite, suite.example)
		if parts[1] == "test" && !hasTest(t, suite.suite, parts[2]) {
			t.Errorf("%s: no test matches %s", suite.suite, parts[2])
		}
	}
}

// hasTest reports whether the suite has a test whose name contains the text.
func hasTest(t *testing.T, suite, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(suite, "*_test.go"))
	check.NoError(t, err)
	return slices.ContainsFunc(files, func(file string) bool {
		return regexp.MustCompile(`(?m)^func Test\w*` + strings.TrimPrefix(name, "Test")).MatchString(text(t, file))
	})
}

// Each test of the node, and each of the real neighbours, is in a part that .ci/run runs in turn, by the day of the
// year.
func TestEveryTestThatTakesTurnsRunsInCI(t *testing.T) {
	script := text(t, "../.ci/run")
	first := regexp.MustCompile(`TestNode_\((\w+\|)`).FindStringSubmatch(script) // each time
	check.Must(t, first != nil, "there is no first part of the node in .ci/run")
	for _, turns := range []struct{ list, folder, prefix, always string }{
		{"nodes", "node", "TestNode_", first[1]},
		{"neighbours", "real", "TestNeighbour_Real", ""},
	} {
		listed := regexp.MustCompile(`(?m)^` + turns.list + `=\((.*)\)$`).FindStringSubmatch(script)
		if listed == nil {
			t.Errorf("there are no parts of %s in .ci/run", turns.folder)
			continue
		}
		parts := strings.NewReplacer("' '", "|", "'", "").Replace(listed[1])
		runs := regexp.MustCompile("^" + turns.prefix + "(" + turns.always + parts + ")")
		files, err := filepath.Glob(turns.folder + "/*_test.go")
		check.NoError(t, err)
		for _, file := range files {
			for _, found := range regexp.MustCompile(`(?m)^func (Test[A-Z]\w*_\w+)\(`).FindAllStringSubmatch(text(t, file), -1) {
				if !runs.MatchString(found[1]) {
					t.Errorf("%s of %s is in no part", found[1], file)
				}
			}
		}
	}
}
