//go:build linux

package release

import (
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// vulnerable is an entry of a vulnerability database: a function of Go's net/url, declared vulnerable in all
// versions. https://ossf.github.io/osv-schema/
const vulnerable = `{"schema_version": "1.3.1", "id": %q, "modified": "2026-01-01T00:00:00Z", "published": "2026-01-01T00:00:00Z",
"summary": "invented by a test", "affected": [{"package": {"name": "stdlib", "ecosystem": "Go"},
"ranges": [{"type": "SEMVER", "events": [{"introduced": "0"}]}],
"ecosystem_specific": {"imports": [{"path": "net/url", "symbols": [%q]}]}}]}`

// TestVulncheck runs the check with a database and a program of its own, as the real database may be out of reach.
func TestVulncheck(t *testing.T) {
	dir := t.TempDir()
	vuln := filepath.Join(dir, "vuln")
	_, err := shell(t.Context(), root, nil, "go -C tools/vuln build -buildvcs=false -o "+vuln+" .")
	check.NoError(t, err)
	write := func(name, content string) {
		t.Helper()
		path := filepath.Join(dir, name)
		check.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		check.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	write("program/go.mod", "module example.org/program\n\ngo 1.26.0\n")
	write("program/main.go",
		"package main\n\nimport \"net/url\"\n\nfunc main() { look() }\n\nfunc look() {\n\tif _, err := url.Parse(\"\"); err != nil {\n\t\tpanic(err)\n\t}\n}\n")
	write("db/GO-2026-0001.json", fmt.Sprintf(vulnerable, "GO-2026-0001", "Parse"))
	write("db/GO-2026-0002.json", fmt.Sprintf(vulnerable, "GO-2026-0002", "JoinPath"))
	closed := httptest.NewServer(nil)
	closed.Close()

	const reached, far = "GO-2026-0001", "2999-12-31"
	for name, tc := range map[string]struct {
		exceptions string
		args       []string
		fails      bool
		says       []string
	}{
		"reached": {fails: true, says: []string{
			"GO-2026-0001 in stdlib", "REACHED. invented by a test\n    example.org/program.main\n    example.org/program.look\n    net/url.Parse\n",
			"GO-2026-0002 in stdlib", ": not reached.", "no version is fixed",
		}},
		"excepted": {exceptions: "# why\n\n" + reached + " " + far +
			" it parses nothing\n", says: []string{"excepted until 2999-12-31: it parses nothing", "nothing that matters"}},
		"exception has ended": {exceptions: reached + " 2026-01-31 it parses nothing\n", fails: true,
			says: []string{"its exception ended on 2026-01-31"}},
		"exception for naught": {exceptions: reached + " " + far + " a\nGO-2020-0009 " + far +
			" gone\n", fails: true, says: []string{"GO-2020-0009 is excepted and not found"}},
		"exception, no reason": {exceptions: reached + " " + far + " \n", fails: true,
			says: []string{"line 1 is not ID YYYY-MM-DD REASON"}},
		"exception, no day": {exceptions: reached + " soon it parses nothing\n", fails: true,
			says: []string{`"soon" is not a day`}},
		"database is away": {args: []string{"-db", closed.URL},
			says: []string{"SKIPPED, nothing was checked: the database cannot be reached"}},
		"and has to be there": {args: []string{"-db", closed.URL, "-required"}, fails: true,
			says: []string{"the database cannot be reached"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := filepath.Join(t.TempDir(), "exceptions.txt")
			check.NoError(t, os.WriteFile(list, []byte(tc.exceptions), 0o644))
			args := append([]string{"-C", filepath.Join(dir, "program"), "-db", "file://" +
				filepath.Join(dir, "db"), "-exceptions", list}, tc.args...)
			out, err := exec.CommandContext(t.Context(), vuln, args...).CombinedOutput()
			check.Equal(t, err != nil, tc.fails, "it ends with %v", err)
			for _, part := range tc.says {
				check.That(t, strings.Contains(string(out), part), "it does not say %q:\n%s", part, out)
			}
		})
	}
}
