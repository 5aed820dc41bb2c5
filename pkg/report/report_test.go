package report

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rancher/helm-locker/tests/lib/check"
)

var key = []byte("a key of the tests")

func TestAges(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for want, ago := range map[string]time.Duration{
		"0s": -time.Hour, "1s": time.Second, "119s": 119 * time.Second, "2m": 2 * time.Minute,
		"119m": 119 * time.Minute, "2h": 2 * time.Hour,
		"47h": 47 * time.Hour, "2d": 48 * time.Hour,
	} {
		check.Equal(t, Age(now.Add(-ago), now), want, "%s ago", ago)
	}
	check.That(t, Age(time.Time{}, now) == "" && Time(time.Time{}) == "", "no time has an age")
}

func TestTable(t *testing.T) {
	var table Table
	table.Add(func(_ int, text string) string { return Style{Color: true}.Bold(text) }, "NAME", "STATE", "REASON")
	table.Add(nil, "web", "Deployed", "all\nis well")
	table.Add(nil, "a-long-name", "", "")
	for width, want := range map[int]string{
		0:  "\x1b[1mNAME\x1b[0m         \x1b[1mSTATE\x1b[0m     \x1b[1mREASON\x1b[0m\nweb          Deployed  all\\nis well\na-long-name\n",
		28: "\x1b[1mNAME\x1b[0m         \x1b[1mSTATE\x1b[0m     \x1b[1mREAS…\x1b[0m\nweb          Deployed  all\\…\na-long-name\n",
		8:  "\x1b[1mNAME\x1b[0m\nweb\na-long-…\n",
	} {
		got := table.String(width)
		check.That(t, got == want, "width %d:\n%q\nwant\n%q", width, got, want)
	}
}

func secret() map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata": map[string]any{
			"name": "s", "labels": map[string]any{"copy": "hunter2"},
			"annotations": map[string]any{
				"kubectl.kubernetes.io/last-applied-configuration": `{"stringData":{"x":"y"}}`,
				"note": "password: hunter2!", "plain": "no",
			},
		},
		"data":       map[string]any{"password": base64.StdEncoding.EncodeToString([]byte("hunter2")), "broken": "%%"},
		"stringData": map[string]any{"password": "hunter2", "flag": "no"},
	}
}

func TestMaskerMasksSecretsOnly(t *testing.T) {
	m := NewMasker(key)
	original := secret()
	masked := m.Object(original, ValuesOf(original))
	text, err := YAML(masked)
	check.NoError(t, err)
	mark := m.Mark("hunter2")
	want := `apiVersion: v1
data:
  broken: ` + m.Mark("%%") + `
  password: ` + mark + `
kind: Secret
metadata:
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: ` + m.Mark(`{"stringData":{"x":"y"}}`) + `
    note: 'password: ` + mark + `!'
    plain: ` + m.Mark("no") + `
  labels:
    copy: ` + mark + `
  name: s
stringData:
  flag: ` + m.Mark("no") + `
  password: ` + mark + `
`
	check.That(t, text == want, "masked is\n%s\nwant\n%s", text, want)
	data := original["stringData"].(map[string]any)
	check.That(t, data["password"] == "hunter2", "the original was changed")
	other := NewMasker([]byte("another key"))
	check.That(t, other.Mark("hunter2") != mark, "markers do not depend on the key")
	plain := map[string]any{"kind": "ConfigMap", "data": map[string]any{"password": "hunter2"}}
	got, err := YAML(m.Object(plain, Values{}))
	check.That(t, err == nil && got == "data:\n  password: hunter2\nkind: ConfigMap\n", "a ConfigMap became %s (%v)", got,
		err)
	m.Show = true
	got, err = YAML(m.Object(original, ValuesOf(original)))
	check.That(t, err == nil && !strings.Contains(got, "<secret"), "shown is %s (%v)", got, err)
}

func TestManifestIsMasked(t *testing.T) {
	m := NewMasker(key)
	mark := m.Mark("hunter2")
	for name, tc := range map[string]struct{ text, want string }{
		"nothing":   {"", ""},
		"no Secret": {"# c\nkind: ConfigMap # c\n--- # c\nkind: X\n", "# c\nkind: ConfigMap # c\n--- # c\nkind: X\n"},
		"a Secret": {"---\n# Source: a/b.yaml\n# hunter2\nkind: Secret # hunter2\nstringData: {a: hunter2}\n",
			"---\n# Source: a/b.yaml\nkind: Secret\nstringData:\n  a: " + mark + "\n"},
		"base64": {"kind: Secret\ndata: {a: aHVudGVyMg==}\n", "data:\n  a: " + mark + "\nkind: Secret\n"},
		"an alias": {"a: &x hunter2\nkind: Secret\nstringData: {b: *x}\n", "a: " + mark +
			"\nkind: Secret\nstringData:\n  b: " + mark + "\n"},
		"a merge": {"kind: Secret\nstringData:\n  <<: {b: hunter2}\n", "kind: Secret\nstringData:\n  b: " + mark + "\n"},
		"in a List": {"kind: List\nitems: [{kind: Secret, stringData: {a: hunter2}}]\n",
			"items:\n- kind: Secret\n  stringData:\n    a: " + mark + "\nkind: List\n"},
		"in a SecretList": {"kind: SecretList\nitems: [{stringData: {a: hunter2}}]\n",
			"items:\n- stringData:\n    a: " + mark + "\nkind: SecretList\n"},
		"kind twice": {"kind: ConfigMap\nkind: Secret\nstringData: {a: hunter2}\n",
			"kind: Secret\nstringData:\n  a: " + mark + "\n"},
		"after the end":  {"kind: X\n...\nkind: Secret\nstringData: {a: hunter2}\n", withheld},
		"data of a text": {"kind: Secret\ndata: hunter2\n", "data: " + mark + "\nkind: Secret\n"},
		"a reference":    {"ref: {kind: Secret, name: x} # c\n", "ref: {kind: Secret, name: x} # c\n"},
		"not YAML":       {"kind: Secret\nstringData: {a: hunter2\n---\nkind: X\n", withheld + "---\nkind: X\n"},
		"a list":         {"- kind: Secret\n  stringData: {a: hunter2}\n", "- kind: Secret\n  stringData:\n    a: " + mark + "\n"},
		"JSON":           {`{"kind":"Secret","stringData":{"a":"hunter2"}}`, "kind: Secret\nstringData:\n  a: " + mark + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := m.Manifest(tc.text)
			check.That(t, got == tc.want, "got\n%s\nwant\n%s", got, tc.want)
		})
	}
}

func TestValuesAreFoundInOtherText(t *testing.T) {
	m := NewMasker(key)
	pem := "-----BEGIN KEY-----\nMIIBsecretsecret\n-----END KEY-----\n"
	values, err := ValuesIn("kind: Secret\nstringData: {a: hunter2, b: 'no', port: 8080}\n---\nkind: Secret\ndata: {k: "+
		base64.StdEncoding.EncodeToString([]byte(pem))+"}\n", "kind: X\n")
	check.NoError(t, err)
	text := m.Text("log in with hunter2 or aHVudGVyMg==, no matter\n  MIIBsecretsecret\n", values)
	want := "log in with " + m.Mark("hunter2") + " or " + m.Mark("hunter2") + ", no matter\n  " + m.Mark(pem) + "\n"
	check.That(t, text == want, "text is %s, want %s", text, want)
	value := m.Value(map[string]any{"a": []any{"no", "note", int64(8080), true, nil}}, values)
	masked := value.(map[string]any)["a"].([]any)
	check.That(t, masked[0] == m.Mark("no") && masked[1] == "note" && masked[2] == m.Mark("8080") && masked[3] == true,
		"value is %v", value)
	_, err = ValuesIn("a: [")
	check.That(t, errors.Is(err, ErrNotYAML), "error is %v", err)
}

func TestUnified(t *testing.T) {
	from := "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n"
	to := strings.Replace(strings.Replace(from, "b\n", "B\x1b[31m\n", 1), "j\n", "", 1)
	got, err := Unified("release", "cluster", from, to, Style{})
	want := `--- release
+++ cluster
@@ -1,5 +1,5 @@
 a
-b
+B\x1b[31m
 c
 d
 e
@@ -7,4 +7,3 @@
 g
 h
 i
-j
`
	check.That(t, err == nil && got == want, "%v\n%s\nwant\n%s", err, got, want)
	if got, err := Unified("a", "b", from, from, Style{}); err != nil || got != "" {
		t.Errorf("equal texts: %q, %v", got, err)
	}
	got, err = Unified("a", "b", "x\n", "", Style{Color: true})
	want = "\x1b[1m--- a\x1b[0m\n\x1b[1m+++ b\x1b[0m\n\x1b[36m@@ -1 +0,0 @@\x1b[0m\n\x1b[31m-x\x1b[0m\n"
	check.That(t, err == nil && got == want, "%v\n%q\nwant\n%q", err, got, want)
}

func TestEveryFormOfAValueIsFound(t *testing.T) {
	m := NewMasker(key)
	const quoted = `pa"ss<word>&` // not as it is in JSON
	const lines = "user: app\npassword: x\nz\n"
	secret := map[string]any{"kind": "Secret", "stringData": map[string]any{
		"quoted": quoted, "lines": lines, "encoded": base64.StdEncoding.EncodeToString([]byte("inner-value")),
		"binary": "\xfb\xff\xfe\xfa\xff",
	}}
	for name, text := range map[string]string{
		"as it is":               quoted,
		"in JSON":                `{"a":"pa\"ss<word>&"}`,
		"in JSON of Go":          `{"a":"pa\"ss\u003cword\u003e\u0026"}`,
		"in base64 of URLs":      base64.URLEncoding.EncodeToString([]byte("\xfb\xff\xfe\xfa\xff")),
		"in base64 without ends": base64.RawURLEncoding.EncodeToString([]byte("\xfb\xff\xfe\xfa\xff")),
		"what it encodes":        "it is inner-value",
		"a line of several":      "  user: app",
		"several lines in JSON":  `{"a":"user: app\npassword: x\nz"}`,
	} {
		got := m.Text("<"+text+">", ValuesOf(secret))
		check.That(t, strings.Contains(got, "<secret "), "%s: %s", name, got)
	}
	// A text too short is everywhere, and stays.
	check.Equal(t, m.Text("a z and an a", ValuesOf(secret)), "a z and an a", "short values became")
}

// A manifest quotes its values, too: in annotations of the Secret and in other objects.
func TestAManifestThatQuotesItsValuesIsMasked(t *testing.T) {
	text := NewMasker(key).Manifest(`kind: Secret
metadata: {annotations: {note: it is hunter2, short: a}}
stringData: {a: hunter2}
---
kind: ConfigMap # with hunter2
data: {url: "app:hunter2@db", encoded: aHVudGVyMg==}
`)
	check.That(t,
		!strings.Contains(text, "hunter2") && !strings.Contains(text, "aHVudGVyMg==") &&
			strings.Contains(text, "url: \"app:<secret "), "it is\n%s", text)
}

// A difference of an invisible character is visible in the output.
func TestYAMLShowsWhatIsInvisible(t *testing.T) {
	of := func(value string) string {
		text, err := YAML(map[string]any{"data": map[string]any{"key": value}})
		check.NoError(t, err)
		return text
	}
	invisible := []string{"\u0085", "\u2028", "\u2029", "\u0080", "\u009b", "\u007f", "\u001b", "\r", "\u202e", "\u2066", "\u200b", "\ufeff"}
	for _, form := range []string{"a%sb", "a%s", "%sb", "a\n%sb\n", "a%s\nb\n"} {
		for _, other := range append(invisible, " ", "", "\n", "\\u0085") {
			for _, one := range invisible {
				if one == other {
					continue
				}
				from, to := of(fmt.Sprintf(form, one)), of(fmt.Sprintf(form, other))
				diff, err := Unified("a", "b", from, to, Style{})
				check.NoError(t, err)
				check.That(t, diff != "", "%+q instead of %+q in %q: no diff", other, one, form)
			}
		}
	}
}
