package cli

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/rancher/helm-locker/pkg/command"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/release/whole"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// marker is a value that must not be printed unless requested.
const marker = "hunter2-c0ffee"

// savedRelease returns the payload of a release whose Secret holds the marker.
func savedRelease(t *testing.T, change func(map[string]any)) []byte {
	t.Helper()
	content := map[string]any{
		"name": "web", "namespace": "apps", "version": 3, "apply_method": "ssa",
		"info": map[string]any{
			"status": "deployed", "description": "Upgrade complete\x1b[31m\nNext: line", "notes": "Log in with " +
				marker + ".\x1b[2J\n",
			"first_deployed": "2026-01-01T00:00:00Z", "last_deployed": "2026-01-02T03:04:05Z",
		},
		"chart":  map[string]any{"metadata": map[string]any{"name": "web", "version": "1.2.3", "appVersion": "v9"}},
		"config": map[string]any{"password": marker, "url": "https://u:" + marker + "@host", "replicas": 2},
		"manifest": `---
# Source: web/templates/config.yaml
# A comment stays.
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {key: value}
---
# Source: web/templates/secret.yaml
# The password is ` + marker + `
apiVersion: v1
kind: Secret
metadata:
  name: web
stringData:
  password: ` + marker + `
  user: web
---
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Secret
    metadata: {name: more}
    data: {token: ` + base64.StdEncoding.EncodeToString([]byte(marker)) + `}
`,
		"hooks": []any{map[string]any{"name": "migrate", "kind": "Job",
			"events": []string{"pre-upgrade", "pre-rollback"}, "manifest": ""}},
	}
	if change != nil {
		change(content)
	}
	encoded, err := json.Marshal(content)
	check.NoError(t, err)
	return encoded
}

func TestSummary(t *testing.T) {
	d, err := whole.Decode([]byte(base64.StdEncoding.EncodeToString(savedRelease(t, nil))), release.DefaultLimit)
	check.NoError(t, err)
	want := `Name:            web
Namespace:       apps
Revision:        3
Status:          deployed
Chart:           web-1.2.3
App version:     v9
Updated:         2026-01-02T03:04:05Z (3d ago)
First deployed:  2026-01-01T00:00:00Z (4d ago)
Description:     Upgrade complete\x1b[31m\nNext: line
Applied by:      server-side apply
Objects:         3 (ConfigMap 1, Secret 2)
Hooks:           Job migrate (pre-upgrade, pre-rollback)
`
	got := summary(d, time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC))
	check.That(t, got == want, "summary is\n%s\nwant\n%s", got, want)
}

// inspectForms are the forms in which users have a release record.
func inspectForms(t *testing.T) map[string]string {
	t.Helper()
	plain := savedRelease(t, nil)
	helm := base64.StdEncoding.EncodeToString(plain)
	kubernetes := base64.StdEncoding.EncodeToString([]byte(helm))
	secret := func(name string, revision int, status string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","type":"helm.sh/release.v1","metadata":{"name":"sh.helm.release.v1.%s.v%d",`+
			`"namespace":"apps","uid":"u%d","resourceVersion":"1","labels":{"owner":"helm","name":"%s","version":"%d","status":"%s"}},"data":{"release":"%s"}}`,
			name, revision, revision, name, revision, status, kubernetes)
	}
	return map[string]string{
		"payload, decoded":    string(plain),
		"payload as of Helm":  helm + "\n",
		"payload in a Secret": kubernetes,
		"Secret as JSON":      secret("web", 3, "deployed"),
		"List as JSON": `{"apiVersion":"v1","kind":"List","items":[` + secret("web", 2, "superseded") + `,` +
			secret("web", 3, "deployed") + `]}`,
		"several YAML objects": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n---\n" +
			secret("web", 3, "deployed"),
	}
}

func TestInspectReadsEveryFormOfARecord(t *testing.T) {
	for name, content := range inspectForms(t) {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, code := runCLI(t, content, "inspect", "-f", "-")
			check.That(t, code == 0 && stderr == "" && strings.Contains(stdout, "Chart:           web-1.2.3\n"),
				"exit code %d, stderr %q, stdout\n%s", code, stderr, stdout)
			file := filepath.Join(t.TempDir(), "record")
			check.NoError(t, os.WriteFile(file, []byte(content), 0o600))
			again, _, _ := runCLI(t, "", "inspect", "web", "--filename", file, "--revision", "3")
			check.That(t, cutAges(again) == cutAges(stdout), "by name and revision it is\n%s", again)
		})
	}
}

// cutAges removes texts that change from second to second.
func cutAges(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		before, _, _ := strings.Cut(line, " (")
		lines = append(lines, strings.TrimSpace(before))
	}
	return strings.Join(lines, "\n")
}

func TestInspectMasksSecrets(t *testing.T) {
	content := string(savedRelease(t, nil))
	for _, part := range []string{"--manifest", "--values", "--notes", "--json", "-o=json", "-o=yaml"} {
		stdout, stderr, code := runCLI(t, content, "inspect", "-f", "-", part)
		check.That(t, code == 0 && stderr == "" && strings.Contains(stdout, "<secret "),
			"%s: exit code %d, stderr %q, stdout\n%s", part, code, stderr, stdout)
		for _, leak := range []string{marker, base64.StdEncoding.EncodeToString([]byte(marker)), "\x1b"} {
			check.That(t, !strings.Contains(stdout, leak), "%s gives away %q:\n%s", part, leak, stdout)
		}
		shown, _, _ := runCLI(t, content, "inspect", "-f", "-", part, "--show-secrets")
		check.That(t,
			strings.Contains(shown, marker) && !strings.Contains(shown, "<secret ") && !strings.Contains(shown, "\x1b"),
			"%s --show-secrets: %s", part, shown)
	}
	manifest, _, _ := runCLI(t, content, "inspect", "-f", "-", "--manifest")
	for _, kept := range []string{"# A comment stays.\n", "# Source: web/templates/secret.yaml\n",
		"data: {key: value}\n", "kind: Secret\n"} {
		check.That(t, strings.Contains(manifest, kept), "%q is not in\n%s", kept, manifest)
	}
}

func TestInspectFormats(t *testing.T) {
	content := string(savedRelease(t, nil))
	inspect := func(args ...string) string {
		t.Helper()
		stdout, stderr, code := runCLI(t, content, append([]string{"inspect", "-f", "-", "--show-secrets"}, args...)...)
		check.Must(t, code == 0, "%v: exit code %d: %s", args, code, stderr)
		return stdout
	}
	check.Equal(t, inspect("--json"), inspect("-o", "json"), "--json is not -o json")
	for _, args := range [][]string{nil, {"--values"}} {
		asJSON, asYAML := inspect(append(args, "-o", "json")...), inspect(append(args, "-o", "yaml")...)
		converted, err := yaml.YAMLToJSON([]byte(asYAML))
		check.Must(t, err == nil && asJSON[0] == '{' && asYAML[0] != '{', "%v: %s%s%v", args, asJSON, asYAML, err)
		var a, b any
		check.That(t,
			json.Unmarshal([]byte(asJSON), &a) == nil && json.Unmarshal(converted, &b) == nil &&
				reflect.DeepEqual(a, b),
			"%v: YAML says\n%s\nand JSON\n%s", args, asYAML, asJSON)
	}
	check.Equal(t, inspect("--values"), inspect("--values", "-o", "yaml"), "values are not YAML by themselves")
	_, stderr, code := runCLI(t, content, "inspect", "-f", "-", "--notes", "-o", "json")
	check.That(t, code == 1 && strings.Contains(stderr, "--notes and --output exclude each other"), "exit code %d: %s",
		code, stderr)
}

func TestInspectWithholdsWhatItCannotTell(t *testing.T) {
	content := string(savedRelease(t, func(c map[string]any) {
		c["manifest"] = "kind: ConfigMap\n---\nkind: Secret\nstringData: {password: " + marker + "\n"
	}))
	stdout, _, code := runCLI(t, content, "inspect", "-f", "-", "--manifest")
	check.That(t,
		code == 0 && !strings.Contains(stdout, marker) && strings.Contains(stdout, "kind: ConfigMap\n") &&
			strings.Contains(stdout, "it is not shown"), "exit code %d:\n%s", code, stdout)
	for _, part := range []string{"--values", "--notes", "--json", "-o=yaml"} {
		stdout, stderr, code := runCLI(t, content, "inspect", "-f", "-", part)
		check.That(t,
			code == 1 && stdout == "" && !strings.Contains(stderr, marker) &&
				strings.Contains(stderr, "--show-secrets prints it as it is"), "%s: exit code %d, stdout %q, stderr %q", part, code,
			stdout, stderr)
	}
}

func TestInspectExplainsBadFiles(t *testing.T) {
	forms := inspectForms(t)
	for name, tc := range map[string]struct {
		content string
		args    []string
		want    string
	}{
		"empty":             {" \n", nil, "standard input is empty; it must hold a record of Helm"},
		"text":              {marker + ": [", nil, "document 1 of standard input is neither YAML nor JSON"},
		"another object":    {"kind: ConfigMap\napiVersion: v1\n", nil, "standard input holds no release record"},
		"truncated":         {forms["payload as of Helm"][:400], nil, "release payload is truncated"},
		"JSON of all sorts": {`{"` + marker + `": 1}`, nil, "release payload is incomplete"},
		"another release": {forms["Secret as JSON"], []string{"webb"},
			"release webb is not in standard input\n  did you mean web -n apps?"},
		"another revision": {forms["List as JSON"], []string{"--revision=7"},
			"release apps/web has no revision 7; it has 3, 2"},
		"another namespace": {forms["payload, decoded"], []string{"-n", "other"},
			"standard input holds revision 3 of release apps/web and nothing else"},
		"several releases": {forms["Secret as JSON"] + "\n---\n" + strings.ReplaceAll(forms["Secret as JSON"], "web",
			"cache"), nil, "[apps/cache apps/web]; name one"},
		"a forged Secret": {strings.Replace(forms["Secret as JSON"], `"owner":"helm"`, `"owner":"me"`, 1), nil,
			`Secret apps/sh.helm.release.v1.web.v3 is not a Helm release record: label "owner" is "me", it must be "helm"`},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, code := runCLI(t, tc.content, append([]string{"inspect", "-f", "-"}, tc.args...)...)
			want := command.ExitFailed
			if name == "another release" {
				want = command.ExitEmpty
			}
			check.That(t, code == want && stdout == "" && strings.Contains(stderr, tc.want) && !strings.Contains(stderr, marker),
				"exit code %d, stdout %q, stderr %q", code, stdout, stderr)
		})
	}
}
