package clitest

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// schemaFile is the published schema of the output for programs.
const schemaFile = "../../docs/cli.schema.json"

// closed makes a schema refuse fields that it does not name.
func closed(schema any) {
	switch s := schema.(type) {
	case map[string]any:
		if _, found := s["properties"].(map[string]any); found {
			s["additionalProperties"] = false
		}
		for _, part := range s {
			closed(part)
		}
	case []any:
		for _, part := range s {
			closed(part)
		}
	}
}

// readSchema returns the schema of all kinds, closed, and their names.
func readSchema(t *testing.T) (*jsonschema.Schema, []string) {
	t.Helper()
	text, err := os.ReadFile(schemaFile)
	check.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	check.NoError(t, err)
	var kinds []string
	definitions, _ := document.(map[string]any)["$defs"].(map[string]any)
	for kind := range definitions {
		kinds = append(kinds, kind)
	}
	closed(definitions)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	check.NoError(t, compiler.AddResource("cli.schema.json", document))
	schema, err := compiler.Compile("cli.schema.json")
	check.NoError(t, err)
	return schema, kinds
}

// itemsOf returns the items of a list in JSON.
func itemsOf[T any](r result) []T {
	r.t.Helper()
	var list struct{ Items []T }
	check.NoError(r.t, json.Unmarshal([]byte(r.raw), &list))
	return list.Items
}

// Each command prints the kind that docs/cli.md has for it, as the published schema describes it.
func TestOutputMatchesTheSchema(t *testing.T) {
	schema, kinds := readSchema(t)
	w := newFixture(t)
	w.installShop(kit.Shared.Helm4(), "kiosk")
	w.Helm(kit.Shared.Helm4(), "install", "calm", w.Chart("calm", kit.ConfigMap("calm", "one")))
	kit.StartOperator(t, w.OperatorConfig(), w.Operator)
	w.Lock("calm")
	w.Patch(kit.ConfigMaps, "calm", `{"data":{"key":"two"}}`)
	w.WaitField(kit.ConfigMaps, "calm", "data.key", "one")
	w.CreateHelmRelease("kiosk", func(hr *v1alpha1.HelmRelease) {
		hr.Spec.Mode = v1alpha1.ModeDetect
		hr.Spec.Ignore = []v1alpha1.IgnoreRule{{Paths: []string{"/data/size"}, Target: &v1alpha1.IgnoreTarget{Kind: "ConfigMap"}}}
	})
	w.WaitReason("kiosk", v1alpha1.ConditionReady, v1alpha1.ReasonDetectOnly)
	w.app("lock", "--all", "--mode", "Detect", "--name", "every").says(0, "created")
	w.Patch(kit.ConfigMaps, "shop", `{"data":{"color":"red"}}`)
	w.Patch(kit.Deployments, "shop", `{"spec":{"replicas":7}}`)
	w.Patch(kit.Secrets, "shop", `{"stringData":{"password":"`+secretValue+`-2"}}`)
	w.Delete(kit.Services, "shop")
	w.WaitReason("kiosk", v1alpha1.ConditionReady, v1alpha1.ReasonDriftDetected)

	printed := map[string]bool{}
	validate := func(line, kind, text string) {
		t.Helper()
		check.That(t, !givesAway(text), "%s gives a Secret away:\n%s", line, text)
		content, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		check.NoError(t, err)
		if got, _ := content.(map[string]any)["kind"].(string); got != kind {
			t.Errorf("%s prints the kind %s, want %s", line, got, kind)
		}
		err = schema.Validate(content)
		check.That(t, err == nil, "%s: %#v\n%s", line, err, text)
		printed[kind] = true
	}
	for line, kind := range map[string]string{
		"diff": "ReleaseDriftList", "diff kiosk --strict": "ReleaseDriftList", "report": "ReleaseDriftList",
		"report --unowned":            "UnownedObjectList",
		"diff --no-ignore calm":       "ReleaseDriftList",
		"diff -l kind=nosuch":         "ReleaseDriftList",
		"values kiosk":                "FieldValueList",
		"status":                      "HelmReleaseStatusList",
		"status --policies":           "HelmReleasePolicyStatusList",
		"status -A --state contended": "HelmReleaseStatusList",
		"policy preview every":        "PolicyPreviewList",
		"check":                       "FindingList",
		"trace configmap/shop":        "TraceList",
		"trace secret/shop":           "TraceList",
		"trace pod/nosuch":            "TraceList",
		"inspect kiosk":               "ReleaseList",
	} {
		args := append(strings.Fields(line), "-o", "json")
		if strings.Contains(line, " every") {
			args = append(args, "--helmrelease-namespace", w.Operator)
		} else if !slices.Contains(args, "-A") && !strings.Contains(line, "--policies") {
			args = append(args, "-n", w.Apps)
		}
		r := w.cli(args...)
		validate(line, kind, r.raw)
		if strings.HasPrefix(line, "report") {
			continue // it has no YAML
		}
		args[slices.Index(args, "json")] = "yaml"
		text, err := yaml.YAMLToJSON([]byte(w.cli(args...).raw))
		check.NoError(t, err)
		validate(line+" -o yaml", kind, string(text))
	}
	files := t.TempDir()
	writeEvidence(t, files, "prod")
	validate("version", "VersionList", w.cli("version", "-o", "json").raw)
	validate("evidence", "EvidenceReport", w.cli("evidence", files, "--since", "2026-10-01", "-o", "json").raw)
	validate("status --watch", "HelmReleaseEvent", w.lines("status", "calm", "-w", "-o", "json")())
	for _, kind := range kinds {
		check.That(t, printed[kind], "no command printed %s", kind)
	}

	// The values of a change, masked in a Secret.
	type drifted struct {
		Differences []struct {
			Kind    string
			Changes []struct {
				Path           string
				Declared, Live any
			}
		}
	}
	values := map[string][2]any{}
	for _, d := range itemsOf[drifted](w.app("diff", "kiosk", "-o", "json"))[0].Differences {
		for _, c := range d.Changes {
			values[d.Kind+" "+c.Path] = [2]any{c.Declared, c.Live}
		}
	}
	check.Equal(t, values["Deployment /spec/replicas"], [2]any{2.0, 7.0}, "replicas")
	check.Equal(t, values["ConfigMap /data/color"], [2]any{"green", "red"}, "color")
	got := values["Secret /data/password"]
	for _, value := range got {
		text, _ := value.(string)
		check.That(t, markers.MatchString(text) && got[0] != got[1], "password is %v", got)
	}
}
