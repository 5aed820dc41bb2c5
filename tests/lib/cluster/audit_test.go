package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestReadAuditFromWithinALine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	check.NoError(t, os.WriteFile(path, []byte("one\ntwo\nthr"), 0o600))
	for from, want := range []string{"one two", "two", "two", "two", "two", "", "", "", "", "", "", ""} {
		var got []string
		check.NoError(t, ReadAudit(path, int64(from), func(line []byte) error {
			got = append(got, strings.TrimSpace(string(line)))
			return nil
		}))
		check.That(t, strings.Join(got, " ") == want, "from %d: %v, want %s", from, got, want)
	}
}
