package clitest

import (
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
