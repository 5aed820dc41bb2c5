package clitest

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// A cluster that does not answer is an error, and hides no other one, in every command and format.
func TestContexts(t *testing.T) {
	f := newFleet(t)
	for _, part := range []struct {
		name string
		test func(*testing.T, *fleet)
	}{
		{"status", statusOfContexts}, {"diff", diffOfContexts}, {"report", reportOfContexts}, {"check", checkOfContexts},
		{"preview", previewOfContexts}, {"schema", schemaOfContexts}, {"hung", aHungContextEnds}, {"watch", watchOfContexts},
		{"baseline", baselineOfContexts}, // which leaves drift
	} {
		t.Run(part.name, func(t *testing.T) {
			w := *f.fixture
			w.Env = f.For(t)
			part.test(t, &fleet{&w, f.second.For(t)})
		})
	}
}

func statusOfContexts(t *testing.T, f *fleet) {
	r := f.cli("status", "--contexts", "prod-*,down")
	table := rows(r.stdout)
	check.That(t,
		strings.HasPrefix(table, "CONTEXT NAME RELEASE REV LOCKED DRIFTED RECENT CONTENDED SINCE STATE REASON\n"+
			"prod-1 web APPS/web - unknown - 0 0 ") &&
			strings.Contains(table, "\nprod-2 web APPS/web - unknown - 0 0 ") && r.code == 1 && r.stderr == isDown+tryAt,
		"exit code %d\n%s\n%s", r.code, r.stdout, r.stderr)
	f.cli("status", "--contexts", "prod-2").says(0, "\nprod-2 ")
	f.cli("status", "web", "--contexts", "prod-*").says(0, "Context:      prod-1\nHelmRelease:  LOCKER/web\n",
		"Context:      prod-2\nHelmRelease:  LOCKER/web\n")
	f.cli("status", "web", "--contexts", "prod-*", "-o", "name").is(0,
		"prod-1 helmrelease.helm.cattle.io/web\nprod-2 helmrelease.helm.cattle.io/web\n", "")
	f.cli("status", "nosuch", "--contexts", "prod-*").says(5, "helm-locker: no HelmRelease in namespace LOCKER is called nosuch")
	f.cli("status", "--contexts", "prod-*", "-n", "default").is(0, "",
		"prod-1: no release in namespace default is locked: no HelmRelease in namespace LOCKER is for one; "+
			"helm-locker --context prod-1 lock RELEASE -n default makes one\n"+
			"prod-2: no release in namespace default is locked: no HelmRelease in namespace LOCKER is for one; "+
			"helm-locker --context prod-2 lock RELEASE -n default makes one\n")
	f.cli("status", "--policies", "--contexts", "prod-*").says(0, "prod-1: there is no HelmReleasePolicy in namespace LOCKER",
		"prod-2: there is no HelmReleasePolicy")
	f.cli("lock", "web", "--contexts", "prod-*").says(1, "lock is for one cluster, and has no --contexts\n")
}

func diffOfContexts(t *testing.T, f *fleet) {
	f.cli("diff", "web", "-n", f.Apps, "--contexts", "prod-1").is(0, "prod-1: 1 release, none drifted\n1 context: 1 release, none drifted\n", "")
	r := f.cli("diff", "-n", f.Apps, "--contexts", "prod-*,down")
	r.says(1,
		"prod-2: ConfigMap APPS/web: data[key]\n", "--- release APPS/web, revision 1\n+++ context prod-2\n", "\n-  key: one\n+  key: two\n",
		"prod-2: release APPS/web, revision 1: 1 of 1 object drifted (1 modified, 0 missing)\n\n"+
			"prod-1: 1 release, none drifted\nprod-2: 1 release, 1 drifted\n3 contexts, 1 not read: 2 releases, 1 drifted\n")
	check.Equal(t, r.stderr, isDown+tryAt, "stderr")
	f.cli("diff", "-n", f.Apps, "--contexts", "prod-1,prod-2", "-o", "patch").says(2, "--- a/prod-2/APPS/ConfigMap/web.yaml\n+++ b/prod-2/")
	f.cli("diff", "nosuch", "-n", f.Apps, "--contexts", "prod-*").says(5, "release APPS/nosuch does not exist")
	// Helm passes its plugins the namespace of the current context, which is no choice for the others.
	f.env = []string{"HELM_NAMESPACE=default"}
	f.cli("diff", "--contexts", "prod-2").says(2, "prod-2: release APPS/web, revision 1: 1 of 1 object drifted")
	f.cli("report", "--contexts", "prod-2").says(2, "`APPS/web`")
	f.env = nil
	f.cli("diff", "--contexts", "prod-2", "-n", "default").says(5, "there is no release to compare in namespace default")
	// A file is compared with each cluster, also one that can be read once.
	record := f.Get(kit.Secrets, "sh.helm.release.v1.web.v1")
	text, err := json.Marshal(record.Object)
	check.NoError(t, err)
	f.stdin = string(text)
	f.cli("diff", "-f", "-", "--contexts", "prod-*").says(2, "prod-1: 1 release, none drifted\nprod-2: 1 release, 1 drifted\n")
}

func reportOfContexts(t *testing.T, f *fleet) {
	run := func(format string) result {
		return f.cli("report", "-n", f.Apps, "--contexts", "prod-1,down,prod-2", "-o", format)
	}
	r := run("markdown")
	r.says(1, "**3 contexts, 1 not read: 2 releases, 1 drifted**", "Context `down`: `the cluster at https://down does not answer: ",
		"| Context | Release | Revision | Lock | Result |\n| --- | --- | --- | --- | --- |\n"+
			"| `prod-2` | `APPS/web` | 1 | unknown | 1 of 1 object drifted |\n", "\n## `prod-2: APPS/web`\n")
	run("html").says(1, "<span>Contexts not read</span>", `<td data-label="Context">prod-1</td>`, `<td data-label="Context">prod-2</td>`,
		"Context down: the cluster at https://down does not answer: ")
	r = run("junit")
	var suites struct {
		Tests, Failures, Errors int `xml:",attr"`
		Suites                  []struct {
			Name  string `xml:"name,attr"`
			Cases []struct {
				Class string `xml:"classname,attr"`
				Name  string `xml:"name,attr"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	check.NoError(t, xml.Unmarshal([]byte(r.stdout), &suites))
	var names []string
	for _, s := range suites.Suites {
		names = append(names, s.Name+" "+s.Cases[0].Class+" "+s.Cases[0].Name)
	}
	if want := []string{"down helm-locker.down context", "prod-1/APPS helm-locker.prod-1.APPS web",
		"prod-2/APPS helm-locker.prod-2.APPS web"}; !slices.Equal(names, want) || r.code != 1 {
		t.Errorf("exit code %d, suites are %q\n%s", r.code, names, r.stdout)
	}
	file := filepath.Join(t.TempDir(), "report.json")
	f.cli("report", "-n", f.Apps, "--contexts", "prod-*", "-o", "json", "--output-file", file).is(2,
		"2 contexts: 2 releases, 1 drifted\n", "")
	// An object of no release is listed with its context.
	f.cli("report", "--unowned", "-n", f.Operator, "--contexts", "prod-2,down").says(1, "Context `down`: ", "| `prod-2` | `HelmRelease.helm.cattle.io LOCKER/web` | ",
		"**2 contexts, 1 not read: ")
	f.cli("report", "-l", "team=none", "--contexts", "prod-*").says(5, "there is no release to compare with labels team=none\n")
	f.cli("report", "-l", "team=none", "--contexts", "prod-*", "--allow-empty").says(0, "**2 contexts: no release was compared**",
		"prod-1: there is no release to compare with labels team=none\nprod-2: there is")
}

func checkOfContexts(t *testing.T, f *fleet) {
	r := f.cli("check", "-n", f.Apps, "--contexts", "prod-*")
	r.says(2, "prod-1  ok       API server: Kubernetes ", "prod-2  ok       API server: Kubernetes ",
		"prod-2  error    HelmRelease LOCKER/web: no operator has taken it up\n                 an operator takes up")
	f.cli("check", "-n", f.Apps, "--contexts", "prod-1,down").says(1, "prod-1  error    HelmRelease", isDown+tryAt)
}

func previewOfContexts(t *testing.T, f *fleet) {
	f.stdin = `
apiVersion: helm.cattle.io/v1alpha1
kind: HelmReleasePolicy
metadata: {name: all}
spec:
  match: {namespaces: [` + f.Apps + `]}
  template: {spec: {mode: Detect}}
`
	r := f.cli("policy", "preview", "-f", "-", "--contexts", "prod-*,down")
	if got, want := rows(r.stdout), `CONTEXT RELEASE OBJECTS DRIFTED POLICY ENFORCING WOULD
prod-1 APPS/web 1 0 leaves it to HelmRelease web change nothing
prod-2 APPS/web 1 1 leaves it to HelmRelease web ConfigMap APPS/web: revert data[key]
`; !strings.HasPrefix(got, want) || !strings.Contains(got, "\nprod-2: all: 1 release matched, ") || r.code != 1 ||
		r.stderr != isDown+tryAt {
		t.Errorf("exit code %d\n%s\n%s", r.code, got, r.stderr)
	}
	f.cli("policy", "preview", "nosuch", "--contexts", "prod-*").says(5, "there is no HelmReleasePolicy \"nosuch\"")
}

// Each item of the output for programs names its context, and the list has the contexts with their errors.
func schemaOfContexts(t *testing.T, f *fleet) {
	schema, _ := readSchema(t)
	f.stdin = "apiVersion: helm.cattle.io/v1alpha1\nkind: HelmReleasePolicy\nmetadata: {name: all}\n" +
		"spec: {match: {namespaces: [" + f.Apps + "]}, template: {spec: {mode: Detect}}}\n"
	for _, line := range []string{"status", "diff -n " + f.Apps, "report -n " + f.Apps, "report --unowned -n " + f.Apps,
		"check -n " + f.Apps, "policy preview -f -"} {
		r := f.cli(append(strings.Fields(line), "--contexts", "prod-2,down,prod-1", "-o", "json")...)
		content, err := jsonschema.UnmarshalJSON(strings.NewReader(r.raw))
		check.NoError(t, err)
		err = schema.Validate(content)
		check.That(t, err == nil, "%s: %#v\n%s", line, err, r.raw)
		var list struct {
			Contexts []struct{ Context, Cluster, Error string }
			Items    []struct{ Context string }
		}
		check.NoError(t, json.Unmarshal([]byte(r.raw), &list))
		var in []string
		for _, item := range list.Items {
			in = append(in, item.Context)
		}
		if in = slices.Compact(in); !slices.Equal(in, []string{"prod-2", "prod-1"}) && line != "report --unowned -n "+f.Apps {
			t.Errorf("%s: items are of %q", line, in)
		}
		c := list.Contexts
		check.That(t,
			len(c) == 3 && c[0].Context == "prod-2" && c[0].Error == "" && c[1].Context == "down" &&
				strings.Contains(c[1].Error, "does not answer") && f.hosts(c[2].Cluster) == "https://prod-1" && r.code == 1,
			"%s: exit code %d, contexts are %+v", line, r.code, c)
	}
}

// The drift of one cluster is not known in another one.
func baselineOfContexts(t *testing.T, f *fleet) {
	file := filepath.Join(t.TempDir(), "drift.yaml")
	f.cli("diff", "-n", f.Apps, "--contexts", "prod-*", "--baseline", file, "--write-baseline").says(0, "1 object in 1 release")
	f.cli("diff", "-n", f.Apps, "--contexts", "prod-*", "--baseline", file).says(0, "2 contexts: 2 releases, none drifted")
	f.Patch(kit.ConfigMaps, "web", `{"data":{"key":"two"}}`)
	f.cli("diff", "-n", f.Apps, "--contexts", "prod-*", "--baseline", file).says(2, "prod-1: 1 release, 1 drifted\nprod-2: 1 release, none drifted")
	f.Patch(kit.ConfigMaps, "web", `{"data":{"key":"one"}}`)
	// Without an answer the file stays as it is.
	before, err := os.ReadFile(file)
	check.NoError(t, err)
	f.cli("diff", "-n", f.Apps, "--contexts", "prod-1,down", "--baseline", file, "--write-baseline").says(1, "does not answer")
	after, err := os.ReadFile(file)
	check.NoError(t, err)
	check.Equal(t, string(before), string(after), "the file is\n%s\nafter\n%s", after, before)
}

func aHungContextEnds(t *testing.T, f *fleet) {
	begin := time.Now()
	r := f.cli("diff", "-n", f.Apps, "--all-contexts", "--request-timeout", "1s")
	r.says(1, "4 contexts, 2 not read: 2 releases, 1 drifted\n", isDown, isHung)
	took := time.Since(begin)
	check.That(t, took <= 20*time.Second, "it took %s", took)
}

// A watch goes on in the clusters that answer.
func watchOfContexts(t *testing.T, f *fleet) {
	ctx, cancel := context.WithTimeout(f.Ctx, time.Minute)
	defer cancel()
	cmd := f.command(ctx, "status", "--watch", "--contexts", "prod-*,down")
	var stdout, stderr strings.Builder
	begun, deleted, failed := make(chan struct{}), make(chan struct{}), make(chan struct{})
	second := "Z  prod-2  " + f.Apps + "/web  not lo"
	cmd.Stdout = onFirst(onFirst(&stdout, second+"oked at: ", func() { close(begun) }), second+"cked: the HelmRelease was deleted\n",
		func() { close(deleted) })
	cmd.Stderr = onFirst(&stderr, tryAt, func() { close(failed) })
	check.NoError(t, cmd.Start())
	for _, event := range []chan struct{}{begun, failed, deleted} {
		select {
		case <-event:
		case <-ctx.Done():
		}
		if event == failed {
			f.second.DeleteHelmRelease("web")
		}
	}
	check.NoError(t, cmd.Process.Signal(os.Interrupt))
	err := cmd.Wait()
	f.second.CreateHelmRelease("web")
	if cmd.ProcessState.ExitCode() != 1 || f.hosts(stderr.String()) != isDown+tryAt {
		t.Errorf("%v, stderr %s", err, f.hosts(stderr.String()))
	}
	for _, context := range []string{"prod-1", "prod-2"} {
		check.That(t,
			strings.Contains(stdout.String(), "Z  "+context+"  "+f.Apps+
				"/web  not looked at: no operator has looked at it yet\n"),
			"%s is not in\n%s", context, stdout.String())
	}
}
