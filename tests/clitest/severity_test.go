package clitest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

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
