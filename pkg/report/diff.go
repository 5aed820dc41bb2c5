package report

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"go.yaml.in/yaml/v2"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/rancher/helm-locker/pkg/plain"
)

// context is how many unchanged lines a diff shows around changed ones.
const context = 3

// YAML returns an object in unstructured form as YAML with sorted keys, without what the API server alone writes;
// "" for nil.
func YAML(object map[string]any) (string, error) {
	if object == nil {
		return "", nil
	}
	return EncodeYAML(Substance(object))
}

// EncodeYAML returns the JSON form of a value as YAML. The JSON is not parsed as YAML, where line separators in a text
// (U+0085, say) are spaces, and other control characters are errors.
func EncodeYAML(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("encode as YAML: %w", err)
	}
	var content any
	if err := utiljson.Unmarshal(text, &content); err != nil {
		return "", fmt.Errorf("encode as YAML: %w", err)
	}
	encoded, err := yaml.Marshal(content)
	if err != nil {
		return "", fmt.Errorf("encode as YAML: %w", err)
	}
	return string(encoded), nil
}

// Substance returns an object without status and without the metadata that the API server owns. It shares the rest.
func Substance(object map[string]any) map[string]any {
	out := make(map[string]any, len(object))
	for key, value := range object {
		switch metadata, ok := value.(map[string]any); {
		case key == "status":
		case key == "metadata" && ok:
			kept := make(map[string]any, len(metadata))
			for field, value := range metadata {
				switch field {
				case "uid", "resourceVersion", "generation", "managedFields", "creationTimestamp", "selfLink":
				default:
					kept[field] = value
				}
			}
			out[key] = kept
		default:
			out[key] = value
		}
	}
	return out
}

// Unified returns the unified diff of two texts under two names, neutral and, with a style, coloured; "" when they
// are equal.
func Unified(fromName, toName, from, to string, style Style) (string, error) {
	text, err := udiff.ToUnified(plain.Line(fromName), plain.Line(toName), from, udiff.Lines(from, to), context)
	if err != nil {
		return "", fmt.Errorf("compare line by line: %w", err)
	}
	var b strings.Builder
	head := 2 // lines that begin with --- and +++
	for line := range strings.Lines(text) {
		line = plain.Line(strings.TrimSuffix(line, "\n"))
		paint := func(text string) string { return text }
		switch head--; {
		case head >= 0:
			paint = style.Bold
		case line[0] == '@':
			paint = style.Cyan
		case line[0] == '-':
			paint = style.Red
		case line[0] == '+':
			paint = style.Green
		}
		fmt.Fprintln(&b, paint(line))
	}
	return b.String(), nil
}
