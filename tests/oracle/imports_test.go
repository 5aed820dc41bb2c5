package oracle

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestImportsNothingThatItJudges checks that the oracle shares no code of this module with the operator, and no Helm.
func TestImportsNothingThatItJudges(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "../cmd/oracle").Output()
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, file := range append(files, "../cmd/oracle/main.go") {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines += bytes.Count(content, []byte("\n"))
	}
	if lines > 1500 {
		t.Errorf("the oracle has %d lines, want at most 1,500", lines)
	}
}
