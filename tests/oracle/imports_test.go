package oracle

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// TestImportsNothingThatItJudges checks that the oracle shares no code of this module with the operator, and no Helm.
func TestImportsNothingThatItJudges(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "../cmd/oracle").Output()
	check.NoError(t, err)
	for dependency := range strings.FieldsSeq(string(out)) {
		ours, ok := strings.CutPrefix(dependency, "github.com/rancher/helm-locker/")
		if ok && ours != "tests/oracle" && ours != "tests/cmd/oracle" || strings.HasPrefix(dependency, "helm.sh/") ||
			strings.HasPrefix(dependency, "github.com/rancher/wrangler") {
			t.Errorf("the oracle imports %s", dependency)
		}
	}
}

// TestIsSmall limits the size: a reader can read the oracle at one sitting.
func TestIsSmall(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	check.NoError(t, err)
	lines := 0
	for _, file := range append(files, "../cmd/oracle/main.go") {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		content, err := os.ReadFile(file)
		check.NoError(t, err)
		lines += bytes.Count(content, []byte("\n"))
	}
	check.That(t, lines <= 1500, "the oracle has %d lines, want at most 1,500", lines)
}
