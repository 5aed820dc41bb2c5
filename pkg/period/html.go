package period

import (
	"bufio"
	_ "embed" // the template
	"fmt"
	"html/template"
	"io"

	"github.com/rancher/helm-locker/pkg/plain"
)

//go:embed period.html
var page string

// HTML writes the report as one self-contained file: no script, no font, no request. style is the style sheet, and
// icon an SVG element; both are trusted. All texts of the report are escaped.
func (r *Report) HTML(to io.Writer, style, icon string) error {
	parsed, err := template.New("period").Funcs(template.FuncMap{"line": plain.Line}).Parse(page)
	if err != nil {
		return fmt.Errorf("parse the template of the report: %w", err)
	}
	b := bufio.NewWriter(to)
	write := func(name string, data any) {
		if err == nil {
			err = parsed.ExecuteTemplate(b, name, data)
		}
	}
	write("head", map[string]any{
		"Headline": r.headline(), "Summary": r.Summary,
		"Style": template.CSS(style), //nolint:gosec // a file of the page
		"Icon":  template.HTML(icon), //nolint:gosec // a file of the page
	})
	for s := range r.sections() {
		write("section", htmlOf(s))
	}
	write("tail", nil)
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return flush(b)
}

type htmlTable struct {
	Head []string
	Rows [][]string
}

func htmlOf(s section) map[string]any {
	var tables []htmlTable
	for _, t := range s.tables {
		if len(t.rows) > 0 {
			tables = append(tables, htmlTable{t.head, t.rows})
		}
	}
	return map[string]any{"Title": s.title, "Notes": s.notes, "Tables": tables}
}
