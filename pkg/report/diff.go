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

// context is the number of unchanged lines around changed ones in a diff.
const context = 3

// YAML returns an object in unstructured form as YAML with sorted keys, without the fields that only the API server
// writes; "" for nil.
func YAML(object map[string]any) (string, error) {
	if object == nil {
		return "", nil
	}
	return EncodeYAML(Substance(object))
}

// EncodeYAML returns the JSON form of a value as YAML. It does not parse the JSON as YAML: that would read line
// separators in a text (U+0085, say) as spaces, and fail on other control characters.
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
