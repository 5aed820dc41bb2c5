package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The generated part of a chart's README.md is between these lines.
const (
	valuesBegin = "<!-- values: written by make generate -->"
	valuesEnd   = "<!-- end of values -->"
)

// chartDirs are the charts with values to document.
var chartDirs = [...]string{"charts/helm-locker", "charts/helm-locker-example"}

// documentCharts writes the table of values into the README of every chart.
func documentCharts() error {
	for _, dir := range chartDirs {
		if err := documentValues(dir); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	return nil
}

// documentValues writes the values of a chart, with the comments above them as descriptions, into its README. Every
// value must have a comment and be in values.schema.json, and the schema must contain values only.
func documentValues(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "values.yaml"))
	if err != nil {
		return err
	}
	schema, err := readSchema(filepath.Join(dir, "values.schema.json"))
	if err != nil {
		return err
	}
	values, err := readValues(string(text))
	if err != nil {
		return fmt.Errorf("values.yaml: %w", err)
	}
	if err := schema.matches(values); err != nil {
		return err
	}
	path := filepath.Join(dir, "README.md")
	readme, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, begun := strings.Cut(string(readme), valuesBegin+"\n")
	_, after, ended := strings.Cut(rest, valuesEnd)
	if !begun || !ended {
		return fmt.Errorf("README.md has no place for the values: the lines %q and %q", valuesBegin, valuesEnd)
	}
	text = []byte(before + valuesBegin + "\n\n" + valuesTable(values) + "\n" + valuesEnd + after)
	return os.WriteFile(path, text, 0o644) //nolint:gosec // G703: dir is one of chartDirs
}

// value is a documented value of a chart.
type value struct {
	section     string
	path        []string
	defaults    string // as JSON
	description string
}

// readValues returns the values of a values.yaml in order. A mapping whose fields have comments is a group of values;
// any other node is one. A line "## TITLE" begins a section.
func readValues(text string) ([]value, error) {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return nil, err
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("want one mapping")
	}
	r := &valuesReader{lines: strings.Split(text, "\n")}
	err := r.read(document.Content[0], nil)
	return r.values, err
}

type valuesReader struct {
	lines  []string
	values []value
}

func (r *valuesReader) read(mapping *yaml.Node, path []string) error {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		name, content := mapping.Content[i], mapping.Content[i+1]
		here := slices.Concat(path, []string{name.Value})
		if r.isGroup(content) {
			if err := r.read(content, here); err != nil {
				return err
			}
			continue
		}
		v := value{section: r.section(name.Line), path: here, description: r.comment(name.Line)}
		if v.description == "" {
			return fmt.Errorf("line %d: %s has no comment above it", name.Line, strings.Join(here, "."))
		}
		var defaults any
		if err := content.Decode(&defaults); err != nil {
			return err
		}
		encoded, err := json.Marshal(defaults)
		if err != nil {
			return err
		}
		v.defaults = string(encoded)
		r.values = append(r.values, v)
	}
	return nil
}

// isGroup reports whether a value is a mapping with a field, at any depth, that is documented separately.
func (r *valuesReader) isGroup(node *yaml.Node) bool {
	if node.Kind != yaml.MappingNode {
		return false
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		if r.comment(node.Content[i].Line) != "" || r.isGroup(node.Content[i+1]) {
			return true
		}
	}
	return false
}

// comment returns the comment right above a line, counted from 1, in one line itself.
func (r *valuesReader) comment(line int) string {
	var words []string
	for i := line - 2; i >= 0; i-- {
		text, isComment := strings.CutPrefix(strings.TrimSpace(r.lines[i]), "# ")
		if !isComment {
			break
		}
		words = append([]string{text}, words...)
	}
	return strings.Join(words, " ")
}

func (r *valuesReader) section(line int) string {
	for i := line - 1; i >= 0; i-- {
		if title, found := strings.CutPrefix(r.lines[i], "## "); found {
			return title
		}
	}
	return ""
}

// valuesTable renders values as Markdown, a table for each section.
func valuesTable(values []value) string {
	var b strings.Builder
	for i, v := range values {
		if i == 0 || v.section != values[i-1].section {
			if i > 0 {
				b.WriteString("\n")
			}
			if v.section != "" {
				fmt.Fprintf(&b, "### %s\n\n", v.section)
			}
			b.WriteString("| value | default | what it is |\n|---|---|---|\n")
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", strings.Join(v.path, "."), v.defaults,
			strings.ReplaceAll(v.description, "|", `\|`))
	}
	return b.String()
}

// valuesSchema is the part of a JSON schema about the existing values.
type valuesSchema struct {
	Properties map[string]*valuesSchema `json:"properties"`
	// Description, of a property that is no value of the chart, is its purpose.
	Description string                   `json:"description"`
	Ref         string                   `json:"$ref"`
	Definitions map[string]*valuesSchema `json:"definitions"`
}

// follow replaces all references to definitions by their targets.
func (s *valuesSchema) follow(definitions map[string]*valuesSchema) error {
	for name, property := range s.Properties {
		if definition, refers := strings.CutPrefix(property.Ref, "#/definitions/"); refers {
			if property = definitions[definition]; property == nil {
				return fmt.Errorf("values.schema.json has no definition of %s", definition)
			}
			s.Properties[name] = property
		}
		if err := property.follow(definitions); err != nil {
			return err
		}
	}
	return nil
}

func readSchema(path string) (*valuesSchema, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	schema := &valuesSchema{}
	if err := json.Unmarshal(text, schema); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	if err := schema.follow(schema.Definitions); err != nil {
		return nil, err
	}
	return schema, nil
}

// matches returns an error that names a value missing from the schema, or a property of it that is no value.
func (s *valuesSchema) matches(values []value) error {
	known := map[string]bool{}
	for _, v := range values {
		at := s
		for i, name := range v.path {
			next := at.Properties[name]
			if next == nil {
				return fmt.Errorf("values.schema.json lacks %s", strings.Join(v.path[:i+1], "."))
			}
			known[strings.Join(v.path[:i+1], ".")] = true
			at = next
		}
		known[strings.Join(v.path, ".")+".*"] = true
	}
	return s.onlyHas(known, "")
}

func (s *valuesSchema) onlyHas(known map[string]bool, prefix string) error {
	if known[prefix+"*"] {
		return nil // fields of a value that is documented as a whole
	}
	for name, property := range s.Properties {
		path := prefix + name
		if !known[path] && property.Description == "" {
			return fmt.Errorf("values.schema.json has %s, which values.yaml lacks", path)
		}
		if known[path] {
			if err := property.onlyHas(known, path+"."); err != nil {
				return err
			}
		}
	}
	return nil
}
