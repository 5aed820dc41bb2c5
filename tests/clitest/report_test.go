package clitest

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// The report agrees with diff in every format, and contains no value of a Secret.
func TestReport(t *testing.T) {
	w := newFixture(t)
	w.installShop(kit.Shared.Helm4(), "shop")
	w.Helm(kit.Shared.Helm4(), "install", "stall", w.Chart("stall", kit.ConfigMap("stall", "one")), "--labels", "team=b")
	w.Forge(kit.ForgedRecord{Name: "gone", Status: "uninstalled", Manifest: kit.ConfigMap("gone", "one")})
	w.CreateHelmRelease("shop", func(hr *v1alpha1.HelmRelease) { hr.Spec.Mode = v1alpha1.ModeDetect })
	w.app("report", "stall").says(0, "# Drift of Helm releases\n\n**1 release, none drifted**\n")

	w.Patch(kit.Secrets, "shop", `{"stringData":{"password":"`+secretValue+`-2"}}`)
	w.Delete(kit.Services, "shop")
	r := w.app("report")
	r.says(2, "**2 releases, 1 drifted**", "| `APPS/shop` | 1 | unknown | 2 of 4 objects drifted |\n",
		"### `Secret APPS/shop`\n\n`data[password]`\n\n`severity medium`\n\n`changed by tamperer (Update) at TIME, AGE ago`\n\n```diff\n",
		"-  password: <secret X>\n+  password: <secret X>\n", "### `Service APPS/shop`\n\n`it does not exist`\n",
		"note: release APPS/gone is left out")
	w.app("report", "-l", "team=b").says(0, "**1 release, none drifted**")

	file := filepath.Join(t.TempDir(), "report")
	for _, format := range []string{"json", "markdown", "html", "junit"} {
		w.app("report", "-o", format, "--output-file", file).is(2, "2 releases, 1 drifted\n",
			"note: release APPS/gone is left out: no revision of it is deployed (the newest, 1, is uninstalled)\n")
		written, err := os.ReadFile(file)
		check.NoError(t, err)
		text := string(written)
		check.That(t, !givesAway(text) && strings.Contains(text, w.Apps) && strings.Contains(text, "password"),
			"%s gives a Secret away, or says nothing:\n%s", format, text)
	}
	var out struct {
		Summary struct{ Releases, Drifted, LeftOut, Objects, ObjectsDrifted int }
		Items   []struct {
			Name, HelmRelease, Locked, LeftOut string
			Differences                        []struct{ Kind, State string }
		}
	}
	r = w.app("report", "-o", "json")
	err := json.Unmarshal([]byte(r.raw), &out)
	check.That(t,
		err == nil && len(out.Items) == 3 && out.Summary.LeftOut == 1 && out.Summary.ObjectsDrifted == 2 &&
			out.Items[1].HelmRelease == w.Operator+"/shop" && out.Items[0].LeftOut != "" &&
			out.Items[1].Differences[1].State == "Missing", "%v: %s", err, r.raw)
	var suites struct {
		Suites []struct {
			Tests, Failures int `xml:",attr"`
		} `xml:"testsuite"`
	}
	check.NoError(t, xml.Unmarshal([]byte(w.app("report", "-o", "junit").raw), &suites))
	check.Equal(t, len(suites.Suites), 1, "suites are %+v", suites)
	w.app("report", "-o", "pdf").says(1, `"pdf" is none of json, markdown, html, junit`)
	w.app("report", "--output-file", "/does/not/exist").says(1, "write the report: open /does/not/exist: no such file")
	// Of all namespaces, one tenant's broken record is an error of that release alone.
	other := w.Namespace(w.Apps + "-2")
	w.Forge(kit.ForgedRecord{Name: "bad", Manifest: kit.ConfigMap("bad", "one"), Labels: map[string]string{"version": "x"}})
	w.app("report", "-o", "junit").says(1, `<testcase classname="helm-locker.APPS" name="bad">`, `type="NotCompared"`,
		`<testcase classname="helm-locker.APPS" name="stall"></testcase>`)
	w.cli("report", "-n", other, "-o", "junit", "--allow-empty").is(0,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"helm-locker\" tests=\"0\" failures=\"0\" errors=\"0\"></testsuites>\n",
		"there is no release to compare in namespace APPS-2\n")
}

// Each drift has a severity, by which a pipeline fails, and a file replaces the built-in rules.
func TestSeverity(t *testing.T) {
	w := newFixture(t)
	w.installShop(kit.Shared.Helm3(), "shop")
	w.Patch(kit.ConfigMaps, "shop", `{"data":{"color":"red"}}`)
	w.Patch(kit.Deployments, "shop", `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"me"}}}`)
	for _, command := range []string{"diff", "report"} {
		w.app(command, "--fail-on", "medium").says(2, "severity medium", "severity low: labels and annotations")
		w.app(command, "--fail-on", "high").says(0, "severity medium", "severity low: labels and annotations")
		w.app(command, "--exit-code=false").says(0, "severity medium", "severity low: labels and annotations")
		w.app(command, "nosuch", "--exit-code=false").says(5, "nosuch")
		w.app(command, "--fail-on", "top").says(1, `"top" is none of low, medium, high`)
	}
	var list struct {
		Items []struct {
			Differences []struct {
				Kind, Severity, SeverityReason string
				Changes                        []struct{ Path, Severity string }
			}
		}
	}
	r := w.app("diff", "shop", "-o", "json", "--fail-on", "high")
	r.says(0)
	check.NoError(t, json.Unmarshal([]byte(r.raw), &list))
	severities := map[string]string{}
	for _, d := range list.Items[0].Differences {
		severities[d.Kind] = d.Severity + " " + d.SeverityReason
		severities[d.Kind+d.Changes[0].Path] = d.Changes[0].Severity
	}
	for name, want := range map[string]string{"ConfigMap": "medium ", "ConfigMap/data/color": "medium",
		"Deployment": "low labels and annotations", "Deployment/metadata/labels/app.kubernetes.io~1managed-by": "low"} {
		check.Equal(t, severities[name], want, "%v", name)
	}

	file := filepath.Join(t.TempDir(), "severities.yaml")
	write := func(rules string) {
		check.NoError(t, os.WriteFile(file, []byte("apiVersion: cli.helm-locker.cattle.io/v1\nkind: DriftSeverities\n"+
			"default: low\nrules: ["+rules+"]\n"), 0o600))
	}
	write(`{severity: high, reason: what users see, kinds: [ConfigMap], paths: [/data]}`)
	w.app("diff", "shop", "--fail-on", "high", "--severities", file).says(2, "severity high: what users see")
	w.app("report", "-o", "junit", "--severities", file).says(2, "severity high: what users see")
	write(`{severity: top, paths: [/data]}`)
	w.app("diff", "shop", "--severities", file).is(1, "",
		"helm-locker: "+file+`: rules[0]: severity "top" is none of low, medium, high`+"\n")
	w.app("report", "--severities", file+"x").says(1, "no such file")

	w.Kubectl("-n", w.Apps, "set", "image", "deployment/shop", "shop=example.org/evil:1")
	w.app("diff", "shop", "--fail-on", "high").says(2, "severity high: the code that runs")
	w.app("report", "--fail-on", "high").says(2, "`severity high: the code that runs`")
}

// hooked is a chart with an object of its own, one in another namespace, and a hook that stays.
const hooked = `
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: far, namespace: {{ .Values.far }}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: prepared, annotations: {helm.sh/hook: pre-install}}
`

// kept is a chart with an object that Helm leaves behind.
const kept = `
apiVersion: v1
kind: ConfigMap
metadata: {name: left, annotations: {helm.sh/resource-policy: keep}}
`

// Objects that no release declares are listed, and nothing that a release, an owner or Kubernetes accounts for.
func TestUnowned(t *testing.T) {
	w := newFixture(t)
	far := w.Namespace(w.Apps + "-far")
	w.app("report", "--unowned").says(0, "**0 of ", "objects without an owner**\n")
	w.Helm(kit.Shared.Helm4(), "install", "web", w.Chart("web", hooked), "--set", "far="+far)
	w.Helm(kit.Shared.Helm3(), "install", "old", w.Chart("old", kept))
	w.Helm(kit.Shared.Helm3(), "uninstall", "old")
	own := func(namespace, name string, owners ...metav1.OwnerReference) {
		object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
			"data": map[string]any{"key": "value"}}}
		object.SetName(name)
		object.SetOwnerReferences(owners)
		_, err := w.Dynamic.Resource(kit.ConfigMaps).Namespace(namespace).Create(w.Ctx, object,
			metav1.CreateOptions{FieldManager: kit.Tamperer})
		check.NoError(t, err)
	}
	web := w.Get(kit.ConfigMaps, "web")
	own(w.Apps, "by-hand")
	own(w.Apps, "of-web", metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "web", UID: web.GetUID()})
	own(far, "far-by-hand")

	r := w.app("report", "--unowned")
	r.says(2, "**2 of ", " objects without an owner**\n", "| Object | Created | By | Names release |\n| --- | --- | --- | --- |\n"+
		"| `ConfigMap APPS/by-hand` | TIME | `tamperer` |  |\n| `ConfigMap APPS/left` | TIME | `helm` | `old` |\n")
	var out struct {
		APIVersion, Kind string
		Items            []struct{ Kind, Namespace, Name, Created, Manager, Release string }
	}
	check.NoError(t, json.Unmarshal([]byte(w.app("report", "--unowned", "-o", "json").raw), &out))
	check.That(t,
		len(out.Items) == 2 && out.Kind == "UnownedObjectList" && out.Items[1].Release == "old" && out.Items[0].Created != "",
		"the list is %+v", out)
	w.cli("report", "--unowned", "-n", far).says(2, "**1 of ", "| `ConfigMap APPS-far/far-by-hand` |")

	r = w.cli("report", "--unowned", "-n", "kube-system")
	check.That(t, !strings.Contains(r.stdout, "ServiceAccount"), "accounts of Kubernetes' controllers have no owner: %s",
		r.stdout)

	file := filepath.Join(t.TempDir(), "exceptions")
	except := func(text string) result {
		check.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return w.app("report", "--unowned", "--except", file)
	}
	except("- {kind: ConfigMap, name: by-*, reason: made by people}").says(2, "**1 of ", "`ConfigMap APPS/left`")
	except("- {namespace: apps-*}").says(0, "**0 of ")
	except("- {kind: Secret}\n- {name: '[a'}").says(1, `entry 2: pattern "[a": syntax error in pattern`)
	except("- {names: by-*}").says(1, `unknown field "names"`, "it is a list, as in: - {kind: Secret,")
	except("- {reason: all}").says(1, "entry 1 names no kind, namespace or name")
	w.app("report", "--except", file).says(1, "--except needs --unowned")
	w.app("report", "web", "--unowned").says(1, "--unowned is about namespaces, and takes no RELEASE")
	w.app("report", "--unowned", "-o", "junit").says(1, `--unowned has no output "junit", but markdown and json`)
	w.app("report", "--unowned", "-l", "a=b").says(1, "--unowned and --selector exclude each other")
	w.cli("report", "--unowned", "-n", "no-such-namespace").says(5, `namespace "no-such-namespace" does not exist`)

	// A release that cannot be read makes the list of its namespace incomplete, and is printed in the others.
	bad := w.Forge(kit.ForgedRecord{Name: "bad", Manifest: kit.ConfigMap("bad", "one"), Labels: map[string]string{"version": "x"}})
	const note = "note: objects of release APPS/bad seem to have no owner: "
	w.app("report", "--unowned").says(1, note, "**2 of ")
	w.cli("report", "--unowned", "-n", far).says(2, note, "**1 of ")
	w.cli("report", "--unowned").says(1, note, "| `ConfigMap APPS-far/far-by-hand` |", "| `ConfigMap APPS/by-hand` |")
	w.Delete(kit.Secrets, bad.GetName())

	// A user who may not list a kind, or not read the releases, gets no list that looks complete.
	reader := w.as("reader", rule("get,list", "", "secrets,configmaps"))
	reader.app("report", "--unowned").says(1, "secrets is forbidden")
}
