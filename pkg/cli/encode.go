package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"

	"k8s.io/apimachinery/pkg/runtime"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/report"
)

// encode returns a value as YAML or JSON, neutral.
func encode(value any, format string) (string, error) {
	if format == "json" {
		return encodeJSON(value, "  ")
	}
	encoded, err := report.EncodeYAML(value)
	if err != nil {
		return "", err
	}
	return plain.Block(encoded), nil
}

// contentOf returns an object of a kind as a user would write it: without status and the fields of the API server.
func contentOf(object any, kind string) (map[string]any, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("encode the %s: %w", kind, err)
	}
	content["apiVersion"], content["kind"] = v1alpha1.SchemeGroupVersion.String(), kind
	return report.Substance(content), nil
}

// encodeObjects returns objects as kubectl prints them: documents of YAML, or one object or List in JSON; "" for none.
func encodeObjects(objects []map[string]any, format string) (string, error) {
	switch {
	case len(objects) == 0:
		return "", nil
	case format == formatJSON && len(objects) > 1:
		return encode(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects}, format)
	}
	var documents []string
	for _, object := range objects {
		text, err := encode(object, format)
		if err != nil {
			return "", err
		}
		documents = append(documents, text)
	}
	return strings.Join(documents, "---\n"), nil
}

// encodeJSON returns a value as JSON, neutral, and ended by a line end; in one line without indent.
func encodeJSON(value any, indent string) (string, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // markers stay readable
	encoder.SetIndent("", indent)
	if err := encoder.Encode(value); err != nil {
		return "", fmt.Errorf("encode as JSON: %w", err)
	}
	return escapeInvisible(b.String()), nil
}

// escapeInvisible writes characters that could hide something in a terminal as JSON escapes; JSON has escaped the rest.
func escapeInvisible(text string) string {
	if plain.Block(text) == text {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if one := string(r); plain.Block(one) == one {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// Kinds of the output for programs, beside report.DriftKind.
const (
	kindFieldValues    = "FieldValueList"
	kindFindings       = "FindingList"
	kindLocks          = "HelmReleaseStatusList"
	kindLockEvent      = "HelmReleaseEvent"
	kindPolicies       = "HelmReleasePolicyStatusList"
	kindPolicyPreviews = "PolicyPreviewList"
	kindReleases       = "ReleaseList"
	kindTraces         = "TraceList"
	kindUnowned        = "UnownedObjectList"
	kindVersions       = "VersionList"
)

// list is the output of a command as JSON or YAML. Its fields are part of the command's interface.
type list[T any] struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Contexts are the clusters that a command with several contexts read.
	Contexts []report.Context `json:"contexts,omitempty"`
	Items    []T              `json:"items"`
}

// encodeList returns items as a list of a kind, neutral. contexts are their clusters; nil for one cluster.
func encodeList[T any](kind string, items []T, contexts []report.Context, format string) (string, error) {
	if items == nil {
		items = []T{} // not null
	}
	return encode(list[T]{report.ListVersion, kind, contexts, items}, format)
}
