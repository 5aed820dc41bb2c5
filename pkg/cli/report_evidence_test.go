package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/rancher/helm-locker/pkg/evidence"
	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// evidenceFiles returns a directory with the evidence of a day: one release, locked.
func evidenceFiles(t *testing.T, cluster string) string {
	t.Helper()
	dir := t.TempDir()
	by := clocktesting.NewFakeClock(time.Date(2026, 10, 1, 8, 0, 0, 0, time.UTC))
	log, err := evidence.Open(dir, cluster, by, func(*evidence.Line) {})
	check.NoError(t, err)
	for n := range 3 {
		m := message.Message{Lock: &message.Lock{Locked: true, Revision: n + 1, Reason: "Locked"},
			HelmRelease: &message.Reference{Namespace: "locker", Name: "shop"},
			Release:     &message.Reference{Namespace: "apps", Name: "shop"}}
		_, err = log.Append(&evidence.Line{Type: message.LockChanged, Lease: "locker", Data: evidence.Data{Message: m}})
		check.NoError(t, err)
	}
	check.NoError(t, log.Close())
	return dir
}

func evidenceOf(args ...string) (code int, out, errOut string) {
	var stdout, stderr bytes.Buffer
	code = Main(context.Background(), append([]string{"helm-locker", "evidence"}, args...), nil, &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// Each mistake has an error that names it, and no report.
func TestEvidence_BadInputIsAnError(t *testing.T) {
	dir, empty, file := evidenceFiles(t, "prod"), t.TempDir(), filepath.Join(t.TempDir(), "file")
	check.NoError(t, os.WriteFile(file, nil, 0o600))
	hollow := t.TempDir()
	check.NoError(t, os.WriteFile(filepath.Join(hollow, "evidence-00000001-20261001.jsonl"), nil, 0o600))
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no directory":             {[]string{"--since", "2026-10-01"}, "no directory"},
		"no such directory":        {[]string{"--since", "2026-10-01", dir + "-none"}, "no such file"},
		"a file":                   {[]string{"--since", "2026-10-01", file}, file},
		"no file of evidence":      {[]string{"--since", "2026-10-01", empty}, "has no file"},
		"files without lines":      {[]string{"--since", "2026-10-01", hollow}, "no line"},
		"no begin":                 {[]string{dir}, "--since 2026-10-01"},
		"no date":                  {[]string{"--since", "October", dir}, `"October" is no date`},
		"no date at the end":       {[]string{"--since", "2026-10-01", "--until", "1.10.2026", dir}, "is no date"},
		"ends before it begins":    {[]string{"--since", "2026-10-02", "--until", "2026-10-01T08:00:00Z", dir}, "before it begins"},
		"begins in the future":     {[]string{"--since", "9999-10-02", dir}, "before it begins"},
		"one bad directory of two": {[]string{"--since", "2026-10-01", dir + "," + empty}, "has no file"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errOut := evidenceOf(tc.args...)
			check.That(t, code == 1 && out == "" && strings.Contains(errOut, tc.want), "exit code %d, output %q, error %q", code,
				out, errOut)
		})
	}
}

// A broken chain is named by its file and line, and the report has nothing of it.
func TestEvidence_ABrokenChainIsNamed(t *testing.T) {
	whole, broken := evidenceFiles(t, "east"), evidenceFiles(t, "west")
	name := filepath.Join(broken, "evidence-00000001-20261001.jsonl")
	text, err := os.ReadFile(name)
	check.NoError(t, err)
	check.NoError(t, os.WriteFile(name, bytes.Replace(text, []byte(`"revision":2`), []byte(`"revision":9`), 1), 0o600))
	code, out, errOut := evidenceOf(whole, "--verify")
	check.That(t, code == 0 && errOut == "" && strings.Contains(out, "unbroken, 1 file, 3 lines"),
		"exit code %d, output %q, error %q", code, out, errOut)
	for _, args := range [][]string{{"--verify"}, {"--since", "2026-10-01", "--until", "2026-10-01"}} {
		code, out, errOut := evidenceOf(append(args, whole, broken)...)
		where := "evidence-00000001-20261001.jsonl, line 3"
		check.That(t, code == 2 && strings.Contains(out, "BROKEN at "+where) && strings.Contains(errOut, broken+": "+where),
			"exit code %d, output %q, error %q", code, out, errOut)
	}
	check.NoError(t, os.WriteFile(name, append(text[:40], '\n'), 0o600))
	code, out, _ = evidenceOf("--verify", broken)
	check.That(t, code == 0 && strings.Contains(out, "line 1: it is not complete"), "exit code %d, output %q", code, out)
}

// All formats have the release, and a file takes the report in place of the output.
func TestEvidence_EachFormatHasTheRelease(t *testing.T) {
	dir := evidenceFiles(t, "prod")
	for _, format := range []string{"text", "markdown", "html", "json", "csv"} {
		file := filepath.Join(t.TempDir(), "report")
		code, out, errOut := evidenceOf(dir, "--since", "2026-10-01", "--until", "2026-10-31", "-o", format, "--output-file", file)
		text, err := os.ReadFile(file)
		check.NoError(t, err)
		check.That(t,
			code == 0 && errOut == "" && strings.HasPrefix(out, "1 release in 1 cluster, ") &&
				strings.Contains(string(text), "2026-11-01T00:00:00") && strings.Contains(string(text), "shop"),
			"%s: exit code %d, output %q, error %q, report %s", format, code, out, errOut, text)
	}
}

// A report that is not written as a whole is an error without totals.
func TestEvidence_AFullDiskIsAnError(t *testing.T) {
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skip("the platform has no " + full)
	}
	dir := evidenceFiles(t, "prod")
	for _, format := range []string{"text", "markdown", "html", "json", "csv"} {
		code, out, errOut := evidenceOf(dir, "--since", "2026-10-01", "--until", "2026-10-31", "-o", format, "--output-file", full)
		check.That(t, code == 1 && out == "" && strings.Contains(errOut, "no space left on device"),
			"%s: exit code %d, output %q, error %q", format, code, out, errOut)
	}
}
