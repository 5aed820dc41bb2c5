package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

const versionsLine = `{"kubernetes":"v1.30.14","etcd":"v3.6.5","helm3":"v3.22.0","helm4":"v4.3.1"}` + "\n"

// events is the output of `go test -json` for a suite.
const events = `{"Time":"2026-11-24T23:59:58Z","Action":"start","Package":"github.com/rancher/helm-locker/tests/order"}
{"Action":"pass","Package":"github.com/rancher/helm-locker/tests/order","Test":"TestI1_A"}
{"Action":"output","Package":"github.com/rancher/helm-locker/tests/order","Test":"TestI1_B",
"Output":"    b_test.go:12: needs nginx\n"}
{"Action":"skip","Package":"github.com/rancher/helm-locker/tests/order","Test":"TestI1_B"}
{"Action":"fail","Package":"github.com/rancher/helm-locker/tests/order","Test":"TestI1_C/part"}
{"Action":"fail","Package":"github.com/rancher/helm-locker/tests/order","Test":"TestI1_C"}
{"Action":"fail","Package":"github.com/rancher/helm-locker/tests/order"}
`

func TestPage(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		check.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	old := write("old", versionsLine+events)
	broken := write("new", strings.ReplaceAll(versionsLine, "v1.30.14", "v1.36.3")+
		`{"Time":"2026-11-25T00:00:00Z","Action":"fail","Package":"github.com/rancher/helm-locker/tests/guard"}`)
	var out strings.Builder
	present := write("present", "old\n\n## Real neighbours\n\nkept\n")
	check.NoError(t, run(present, []string{old, broken}, &out))
	for _, want := range []string{
		"| v1.36.3 | v3.22.0 | v4.3.1 | 0 | 1 | 0 | 2026-11-25 |\n" +
			"| v1.30.14 | v3.22.0 | v4.3.1 | 1 | 1 | 1 | 2026-11-24 |\n",
		"in these suites: `tests/guard`, `tests/order`.\n", "etcd (v3.6.5)",
		"- Kubernetes v1.36.3, Helm v3.22.0 and v4.3.1: the suite tests/guard\n" +
			"- Kubernetes v1.30.14, Helm v3.22.0 and v4.3.1: TestI1_C\n",
		"v4.3.1: TestI1_B: needs nginx\n", "\n## Real neighbours\n\nkept\n",
	} {
		check.That(t, strings.Contains(out.String(), want), "without %q:\n%s", want, out.String())
	}
}

func TestReportsThatAreNone(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "read the versions",
		versionsLine:                "no suite ran",
		versionsLine + "FAIL\n":     "read what go test reports",
		versionsLine + events + "{": "read what go test reports",
	} {
		_, err := read(strings.NewReader(text))
		check.That(t, err != nil && strings.Contains(err.Error(), want), "%q: %v, want %q", text, err, want)
	}
}
