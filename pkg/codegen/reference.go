package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// referenceFiles are the files of the API package with constants that users meet in status, events and metadata, and
// their headings. The tool that documents the types leaves out constants without a type of their own.
var referenceFiles = [...]struct{ file, heading string }{
	{"conditions.go", "Conditions"},
	{"events.go", "Events"},
	{"metadata.go", "Annotations and finalizers"},
}

// appendReference adds tables of the documented constants in dir to the generated file doc.
func appendReference(doc, dir string) error {
	text, err := os.ReadFile(doc)
	if err != nil {
		return fmt.Errorf("reading the generated reference: %w", err)
	}
	// The markers +required and +optional have no argument, and are rendered with an empty one.
	types := strings.NewReplacer(`: \{\} <br />`, "").Replace(string(text))
	var out strings.Builder
	out.WriteString(strings.TrimRight(types, "\n") + "\n")
	for _, ref := range referenceFiles {
		tables, err := constantTables(filepath.Join(dir, ref.file))
		if err != nil {
			return err
		}
		fmt.Fprintf(&out, "\n## %s\n%s", ref.heading, tables)
	}
	if err := os.WriteFile(doc, []byte(out.String()), 0o644); err != nil {
		return fmt.Errorf("writing the reference: %w", err)
	}
	return nil
}

// constantTables renders every constant group of a Go file: its comment as a paragraph, then a table of values.
func constantTables(path string) (string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	if err != nil {
		return "", fmt.Errorf("parsing %s: %w", path, err)
	}
	var out strings.Builder
	for _, decl := range file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		rows, err := constantRows(group)
		if err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
		if intro := oneLine(group.Doc); intro != "" {
			fmt.Fprintf(&out, "\n%s\n", intro)
		}
		fmt.Fprintf(&out, "\n| Value | Meaning |\n| --- | --- |\n%s", strings.Join(rows, ""))
	}
	return out.String(), nil
}

// constantRows renders the string constants of a group as rows of a table.
func constantRows(group *ast.GenDecl) ([]string, error) {
	var rows []string
	for _, spec := range group.Specs {
		value := spec.(*ast.ValueSpec) // a CONST declaration has no other specs
		name := value.Names[0].Name
		if value.Doc == nil || len(value.Values) != 1 {
			return nil, fmt.Errorf("constant %s needs a comment and one value", name)
		}
		literal, ok := value.Values[0].(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return nil, fmt.Errorf("constant %s is not a string literal", name)
		}
		text, err := strconv.Unquote(literal.Value)
		if err != nil {
			return nil, fmt.Errorf("constant %s: %w", name, err)
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s |\n", text, meaning(name, oneLine(value.Doc))))
	}
	return rows, nil
}

// meaning turns a Go comment into a table cell: "ConditionX is True when" becomes "True when" and "ReasonX (True): a b"
// becomes "(True) A b".
func meaning(name, comment string) string {
	text := strings.TrimSpace(strings.TrimPrefix(comment, name))
	prefix := ""
	if strings.HasPrefix(text, "(") {
		if end := strings.Index(text, "):"); end > 0 {
			prefix, text = text[:end+1]+" ", text[end+1:]
		}
	}
	for _, lead := range [...]string{":", "is "} {
		text = strings.TrimSpace(strings.TrimPrefix(text, lead))
	}
	if text != "" {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	return prefix + strings.ReplaceAll(text, "|", `\|`)
}

// oneLine joins the lines of a comment.
func oneLine(comment *ast.CommentGroup) string {
	return strings.Join(strings.Fields(comment.Text()), " ")
}
