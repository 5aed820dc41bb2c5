package report

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"sigs.k8s.io/yaml"
)

// context is how many unchanged lines a diff shows around changed ones.
const context = 3

// YAML returns an object in unstructured form as YAML with sorted keys, without what the API server alone writes;
// "" for nil.
func YAML(object map[string]any) (string, error) {
	if object == nil {
		return "", nil
	}
	encoded, err := yaml.Marshal(Substance(object))
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
	edits := udiff.Lines(from, to)
	if len(edits) == 0 {
		return "", nil
	}
	diff, err := udiff.ToUnifiedDiff(Line(fromName), Line(toName), from, edits, context)
	if err != nil {
		return "", fmt.Errorf("compare line by line: %w", err)
	}
	var b strings.Builder
	fmt.Fprintln(&b, style.Bold("--- "+diff.From))
	fmt.Fprintln(&b, style.Bold("+++ "+diff.To))
	for _, hunk := range diff.Hunks {
		before, after := 0, 0
		for _, line := range hunk.Lines {
			switch line.Kind {
			case udiff.Delete:
				before++
			case udiff.Insert:
				after++
			default:
				before++
				after++
			}
		}
		fmt.Fprintln(&b, style.Cyan(fmt.Sprintf("@@ -%s +%s @@", span(hunk.FromLine, before),
			span(hunk.ToLine, after))))
		for _, line := range hunk.Lines {
			text := Line(strings.TrimSuffix(line.Content, "\n"))
			switch line.Kind {
			case udiff.Delete:
				fmt.Fprintln(&b, style.Red("-"+text))
			case udiff.Insert:
				fmt.Fprintln(&b, style.Green("+"+text))
			default:
				fmt.Fprintln(&b, " "+text)
			}
		}
	}
	return b.String(), nil
}

// span returns a range of lines as hunk headers have it.
func span(line, count int) string {
	switch count {
	case 0:
		return fmt.Sprintf("%d,0", max(line-1, 0))
	case 1:
		return fmt.Sprint(line)
	}
	return fmt.Sprintf("%d,%d", line, count)
}
