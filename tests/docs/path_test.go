package docs

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// The table of the packages names all of them, and each imports only packages of its own row or below.
func TestImportsPointDown(t *testing.T) {
	page := read(t, "docs/architecture.md")
	_, section, _ := strings.Cut(page, "\n## The packages\n")
	rows := map[string]int{}
	name := regexp.MustCompile("`(pkg/[^`]+)`")
	for i, row := range regexp.MustCompile(`(?m)^\| ([^|]+) \|`).FindAllStringSubmatch(section, -1) {
		for _, m := range name.FindAllStringSubmatch(row[1], -1) {
			rows[m[1]] = i
		}
	}
	out := goList(t, "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./pkg/...")
	ours := regexp.MustCompile(`\bgithub\.com/rancher/helm-locker/(pkg/\w+)`)
	for line := range strings.Lines(out) {
		packages := ours.FindAllStringSubmatch(line, -1)
		importer := packages[0][1]
		_, ok := rows[importer]
		check.That(t, ok, "docs/architecture.md does not name %s", importer)
		for _, imported := range packages[1:] {
			if rows[imported[1]] < rows[importer] {
				t.Errorf("%s imports %s, which is above it in docs/architecture.md", importer, imported[1])
			}
		}
	}
}

// goList returns the output of go list.
func goList(t *testing.T, args ...string) string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...)
	list.Dir = root
	out, err := list.Output()
	check.NoError(t, err)
	return string(out)
}

// Code for people alone is not in the operator's process, by any import.
func TestTheOperatorImportsNothingThatShows(t *testing.T) {
	out := goList(t, "-deps", "./pkg/operator")
	for line := range strings.Lines(out) {
		_, ours, _ := strings.Cut(strings.TrimSpace(line), "helm-locker/pkg/")
		switch ours {
		case "bucket", "page", "inspect", "report", "notify", "follow", "policies", "policy", "severity", "evidence", "period", "history":
			t.Errorf("the operator imports pkg/%s", ours)
		}
	}
}

// The client of a bucket is in the program of the notifications alone.
func TestOneProgramHasTheClientOfABucket(t *testing.T) {
	for program, has := range map[string]bool{".": false, "./cmd/helm-locker": false, "./cmd/helm-locker-notifications": true} {
		out := goList(t, "-deps", program)
		check.Equal(t, strings.Contains(out, "github.com/minio/"), has, "%s: it has the client: %v", program, !has)
	}
}
