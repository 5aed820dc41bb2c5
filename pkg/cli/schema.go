package cli

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/pkg/period"
	"github.com/rancher/helm-locker/pkg/report"
)

// outputSchema returns the JSON schema of the output for programs: a definition for each kind.
func outputSchema() map[string]any {
	definitions, kinds := map[string]any{}, []map[string]any{}
	for _, kind := range printedKinds() {
		schema := schemaOf(kind.output)
		properties, _ := schema["properties"].(map[string]any)
		properties["apiVersion"] = map[string]any{"const": report.ListVersion}
		properties["kind"] = map[string]any{"const": kind.name}
		schema["description"] = "The output of helm-locker " + strings.ReplaceAll(kind.commands, "`", "") + "."
		definitions[kind.name] = schema
		kinds = append(kinds, map[string]any{"$ref": "#/$defs/" + kind.name})
	}
	return map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": report.ListVersion,
		"description": "The output of helm-locker with -o json or -o yaml. Later versions of the program may add fields.",
		"oneOf":       kinds, "$defs": definitions,
	}
}

// schemaOf returns the JSON schema of a Go type, as encoding/json writes its values.
func schemaOf(t reflect.Type) map[string]any {
	switch {
	case t.Kind() == reflect.Pointer:
		return schemaOf(t.Elem())
	case t == reflect.TypeFor[time.Time]() || t == reflect.TypeFor[metav1.Time]():
		return map[string]any{"type": []string{"string", "null"}, "format": "date-time"}
	case t == reflect.TypeFor[metav1.Duration]():
		return map[string]any{"type": "string"}
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()):
		return map[string]any{} // its JSON is not that of its fields
	}
	switch t.Kind() {
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	case reflect.Struct:
		schema := map[string]any{"type": "object", "properties": map[string]any{}}
		if required := addProperties(schema["properties"].(map[string]any), t); len(required) > 0 {
			schema["required"] = required
		}
		return schema
	}
	return map[string]any{} // any value
}

// addProperties adds the schemas of the fields of a struct by their names in JSON, and returns the names of those that
// are never left out.
func addProperties(properties map[string]any, t reflect.Type) (required []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			required = append(required, addProperties(properties, f.Type)...)
		case f.IsExported() && name != "" && name != "-":
			properties[name] = schemaOf(f.Type)
			if !strings.Contains(options, "omit") {
				required = append(required, name)
			}
		}
	}
	return required
}

// printedKind is a kind of output for programs.
type printedKind struct {
	name string
	// commands are the command lines that print it, with -o json or -o yaml.
	commands string
	output   reflect.Type
}

// printedKinds returns all kinds of output for programs, in the order of their names.
func printedKinds() []printedKind {
	return []printedKind{
		{period.Kind, "`evidence`", reflect.TypeFor[period.Report]()},
		{kindFieldValues, "`values`", reflect.TypeFor[list[answerOut]]()},
		{kindFindings, "`check`", reflect.TypeFor[list[locatedFinding]]()},
		{kindLockEvent, "`status --watch`, one a line", reflect.TypeFor[watchLine]()},
		{kindPolicies, "`status --policies`", reflect.TypeFor[list[policyOut]]()},
		{kindLocks, "`status`", reflect.TypeFor[list[statusOut]]()},
		{kindPolicyPreviews, "`policy preview`", reflect.TypeFor[list[previewOut]]()},
		{report.DriftKind, "`diff`, `report`", reflect.TypeFor[report.Drift]()},
		{kindReleases, "`inspect`", reflect.TypeFor[list[detailsOut]]()},
		{kindTraces, "`trace`", reflect.TypeFor[list[traced]]()},
		{kindUnowned, "`report --unowned`", reflect.TypeFor[list[unownedOut]]()},
		{kindVersions, "`version`", reflect.TypeFor[list[versionOut]]()},
	}
}
