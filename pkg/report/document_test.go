package report

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// hostile is a text that would be markup, a mention, the end of a block or of a line, or an invisible character.
const hostile = "<script>alert(1)</script> ``` @everyone | ]]> &amp; \x1b[2J\u202e\nnext \"quoted\""

func driftOfAll() *Drift {
	return NewDrift(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), "https://cluster.example", []ReleaseDrift{
		{Namespace: "apps", Name: "calm", Revision: 2, Status: "deployed", Compared: 3, Locked: LockedYes},
		{Namespace: "apps", Name: "extra", Revision: 5, Status: "deployed", Compared: 3, Locked: LockedYes, Additions: 2},
		{Namespace: "apps", Name: "gone", LeftOut: hostile},
		{Namespace: "apps", Name: "web", Revision: 7, Status: "deployed", Compared: 4, Locked: LockedDetect, Additions: 1,
			Differences: []ObjectDrift{
				{Object: Object{Kind: "ConfigMap", Namespace: "apps", Name: "web"}, State: "Modified", What: "data[" + hostile + "]",
					Blame: []string{"changed by " + hostile},
					Diff:  "--- a\n+++ b\n@@ -1 +1 @@\n-a: <secret 0123abcd>\n+a: " + strings.ReplaceAll(hostile, "\n", "") + "\n"},
				{Object: Object{Group: "apps", Kind: "Deployment", Namespace: "apps", Name: "web"}, State: "Missing",
					What: "it does not exist"},
			}},
		{Namespace: "kitchen", Name: "broken", Error: hostile},
		{Namespace: "kitchen", Name: "half", Revision: 1, Status: "deployed", Compared: 1,
			Failures: []ObjectFailure{{Object: Object{Kind: "Secret", Name: "x"}, Error: hostile}}},
	})
}

func TestDriftSummary(t *testing.T) {
	d := driftOfAll()
	want := Summary{Releases: 5, Drifted: 1, Incomplete: 2, LeftOut: 1, Objects: 11, ObjectsDrifted: 2, Additions: 3}
	check.Equal(t, d.Summary, want, "summary")
	check.Equal(t, d.Summary.String(), "5 releases, 2 not fully compared, 1 drifted")
	check.Equal(t, NewDrift(time.Time{}, "", nil).Summary.String(), "no release was compared")
}

// driftOfContexts is a report about three clusters, two of them with a release of one name; the third was not read.
func driftOfContexts() *Drift {
	of := func(context string, drift ...ObjectDrift) ReleaseDrift {
		return ReleaseDrift{Context: context, Namespace: "apps", Name: "web", Revision: 7, Status: "deployed", Compared: 4,
			Differences: drift}
	}
	missing := ObjectDrift{Object: Object{Kind: "ConfigMap", Namespace: "apps", Name: "web"}, State: "Missing", What: "it does not exist"}
	return NewDrift(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), "",
		[]ReleaseDrift{of("prod-1"), of("prod-2"+hostile, missing)},
		Context{Name: "prod-1"}, Context{Name: "down" + hostile, Error: "down" + hostile, Unread: true}, Context{Name: "prod-2" + hostile})
}

// Each format names the context of a release and of an error, without markup of theirs.
func TestFormatsNameTheContext(t *testing.T) {
	d := driftOfContexts()
	check.Equal(t, d.Summary.String(), "3 contexts, 1 not read: 2 releases, 1 drifted")
	junit, err := d.JUnit()
	check.NoError(t, err)
	var suites junitSuites
	if err := xml.Unmarshal([]byte(junit), &suites); err != nil || len(suites.Suites) != 3 || suites.Tests != 3 ||
		suites.Errors != 1 || suites.Failures != 1 {
		t.Fatalf("%v: %s", err, junit)
	}
	for i, want := range []string{"down", "prod-1/apps", "prod-2"} {
		s := suites.Suites[i]
		check.That(t,
			strings.HasPrefix(s.Name, want) &&
				strings.HasPrefix(s.Cases[0].ClassName, "helm-locker."+strings.ReplaceAll(want, "/", ".")), "suite %d is %+v", i, s)
	}
	html, err := d.HTML("", "")
	check.NoError(t, err)
	for _, want := range []string{"in 3 contexts,", "<b>1<small> of 3</small></b><span>Contexts not read</span>",
		`<th scope="col">Context</th><th scope="col">Release</th>`, `<td data-label="Context">prod-1</td>`,
		`<p class="note bad">Context down&lt;script&gt;`, "<h2>prod-2&lt;script&gt;"} {
		check.That(t, strings.Contains(html, want), "%q is not in\n%s", want, html)
	}
	markdown := d.Markdown()
	check.That(t,
		strings.Contains(markdown, "\n| Context | Release | Revision | Lock | Result |\n"+
			"| --- | --- | --- | --- | --- |\n| ````prod-2<script>") &&
			strings.Contains(markdown, "\nContext ````down<script>"), "markdown is\n%s", markdown)
	for _, text := range []string{junit, html, markdown} {
		check.That(t, !strings.Contains(text, "\x1b") && !strings.Contains(text, "\u202e"), "control characters are in\n%s",
			text)
	}
	check.That(t, !strings.Contains(html, "<script"), "markup of a context is in the HTML")
}

// The structure of the documentation of Jenkins (the junit-10.xsd of its xunit plugin) and GitLab: the places of
// elements, their allowed and required attributes, and correct counts.
func TestJUnitIsWhatServersRead(t *testing.T) {
	text, err := driftOfAll().JUnit()
	check.NoError(t, err)
	allowed := map[string]struct {
		children           string
		required, optional string
	}{
		"":           {children: "testsuites"},
		"testsuites": {"testsuite", "", "name time tests failures disabled errors"},
		"testsuite": {"properties testcase system-out system-err", "name tests",
			"failures errors time disabled skipped timestamp hostname id package"},
		"testcase": {"skipped error failure system-out system-err", "name", "assertions time classname status"},
		"failure":  {"", "", "type message"}, "error": {"", "", "type message"}, "skipped": {"", "", "type message"},
	}
	path := []string{""}
	var counts []map[string]int // of each open element that has numbers
	declared := [][]xml.Attr{}
	decoder := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		check.Must(t, err == nil, "%v in\n%s", err, text)
		switch e := token.(type) {
		case xml.StartElement:
			name, parent := e.Name.Local, path[len(path)-1]
			check.That(t, slices.Contains(strings.Fields(allowed[parent].children), name), "%s is in %s", name, parent)
			var names []string
			for _, attribute := range e.Attr {
				names = append(names, attribute.Name.Local)
			}
			for _, required := range strings.Fields(allowed[name].required) {
				check.That(t, slices.Contains(names, required), "%s has no %s", name, required)
			}
			for _, got := range names {
				check.That(t, slices.Contains(strings.Fields(allowed[name].required+" "+allowed[name].optional), got),
					"%s has %s", name, got)
			}
			for _, count := range counts {
				count[map[string]string{"testcase": "tests", "failure": "failures", "error": "errors", "skipped": "skipped"}[name]]++
			}
			path, counts, declared = append(path, name), append(counts, map[string]int{}), append(declared, e.Attr)
		case xml.EndElement:
			for _, attribute := range declared[len(declared)-1] {
				want, isCount := counts[len(counts)-1][attribute.Name.Local], slices.Contains(
					[]string{"tests", "failures", "errors", "skipped"}, attribute.Name.Local)
				if n, err := strconv.Atoi(attribute.Value); isCount && (err != nil || n != want) {
					t.Errorf("%s says %s=%s, there are %d", e.Name.Local, attribute.Name.Local, attribute.Value, want)
				}
			}
			path, counts, declared = path[:len(path)-1], counts[:len(counts)-1], declared[:len(declared)-1]
		}
	}
	for _, want := range []string{
		`<testsuites name="helm-locker" tests="6" failures="1" errors="2">`,
		`<testsuite name="apps" tests="4" failures="1" errors="0" skipped="1" timestamp="2026-01-02T03:04:05">`,
		`<testcase classname="helm-locker.apps" name="calm"></testcase>`,
		`<failure message="2 of 4 objects drifted; 1 object has additions" type="Drift">`,
		`<testcase classname="helm-locker.apps" name="extra">
      <system-out>no drift in 3 objects; 2 objects have additions</system-out>
    </testcase>`,
	} {
		check.That(t, strings.Contains(text, want), "%s is not in\n%s", want, text)
	}
	var parsed junitSuites
	check.NoError(t, xml.Unmarshal([]byte(text), &parsed))
	got := parsed.Suites[0].Cases[3].Failure.Text
	check.That(t, strings.Contains(got, "]]>") && !strings.Contains(got, "\x1b"), "the text of a failure is %q", got)
}

func TestHTMLEscapesAndNeedsNothing(t *testing.T) {
	text, err := driftOfAll().HTML("body { color: red }", "<svg></svg>")
	check.NoError(t, err)
	for _, leak := range []string{"<script", "\x1b", "\u202e", "ZgotmplZ"} {
		check.That(t, !strings.Contains(text, leak), "%q is in\n%s", leak, text)
	}
	check.Equal(t,
		regexp.MustCompile(`(?i)\b(src|href|action|style)\s*=\s*"?[^"#]|url\(|@import|http-equiv`).FindString(text), "",
		"it refers to something else by")
	for _, want := range []string{
		"<style>\nbody { color: red }", "<svg></svg>", "&lt;script&gt;alert(1)&lt;/script&gt;",
		`<span class="mask">&lt;secret 0123abcd&gt;</span>`, `<a href="#r3"><span class="ns">apps/</span>web</a>`, `id="r3"`,
		"2 of 4 objects drifted; 1 object has additions", "no drift in 3 objects; 2 objects have additions",
		"<b>3<small> of 11</small></b><span>Objects with additions</span>", "Deployment apps/web</b> it does not exist", `<span class="pill info">Watched</span>`,
	} {
		check.That(t, strings.Contains(text, want), "%q is not in\n%s", want, text)
	}
	text, err = NewDrift(time.Time{}, "", nil).HTML("", "")
	check.That(t, err == nil && strings.Contains(text, "There is no release to compare."), "%v: %s", err, text)
}

func TestMarkdownHasNoMarkupOfOthers(t *testing.T) {
	text := driftOfAll().Markdown()
	check.That(t, !strings.Contains(text, "calm") && !strings.Contains(text, "gone"),
		"it tells of releases without drift:\n%s", text)
	for _, want := range []string{
		"# Drift of Helm releases\n\n**5 releases, 2 not fully compared, 1 drifted**\n\nCluster `https://cluster.example`, 2026-01-02T03:04:05Z.\n",
		"| `apps/extra` | 5 | yes | no drift in 3 objects; 2 objects have additions |\n",
		"| `apps/web` | 7 | detect | 2 of 4 objects drifted; 1 object has additions |\n", "\n## `apps/web`\n", "\n### `Deployment apps/web`\n\n`it does not exist`\n",
		"\n````diff\n--- a\n", "\n````\n",
	} {
		check.That(t, strings.Contains(text, want), "%q is not in\n%s", want, text)
	}
	// The rest, outside of spans and blocks of code, is ours.
	for _, fence := range []string{"````", "````", "`"} {
		text = regexp.MustCompile("(?s)"+fence+"[^`].*?[^`]"+fence+"(\n|[ :),.|]|$)").ReplaceAllString(text, "")
	}
	check.That(t, !strings.Contains(text, "script") && !strings.Contains(text, "everyone"), "outside of code:\n%s", text)
	for text, want := range map[string]string{"a": "`a`", "a`b": "``a`b``", "`": "`` ` ``", "": "`  `", "a\nb": "`a\\nb`"} {
		check.Equal(t, code(text), want, "%v", text)
	}
	check.Equal(t, Cell("a|b"), "`a\\|b`")
}
