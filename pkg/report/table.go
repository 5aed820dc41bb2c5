package report

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rancher/helm-locker/pkg/plain"
)

// Table lays cells out in columns. It makes cells neutral. Colours are separate from texts, because they have no width.
type Table struct {
	rows  [][]string
	paint []func(column int, text string) string
}

// Add adds a row. Paint, if not nil, colours a cell after the layout.
func (t *Table) Add(paint func(column int, text string) string, cells ...string) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = plain.Line(cell)
	}
	t.rows = append(t.rows, row)
	t.paint = append(t.paint, paint)
}

// columnGap separates columns.
const columnGap = "  "

// Fit leaves out columns, by their titles and in that order, until the rows are no wider than width; 0 is no limit.
func (t *Table) Fit(width int, titles ...string) {
	for _, title := range titles {
		if width == 0 || t.width() <= width {
			return
		}
		if column := slices.Index(t.rows[0], title); column >= 0 {
			for i := range t.rows {
				t.rows[i] = slices.Delete(t.rows[i], column, column+1)
			}
		}
	}
}

// width returns that of the widest row.
func (t *Table) width() int {
	all := 0
	for _, n := range t.widths() {
		all += n + len(columnGap)
	}
	return all - len(columnGap)
}

// widths returns those of the columns.
func (t *Table) widths() []int {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// String returns the rows, each ended by a line end. It cuts a row at width, with an ellipsis; width 0 is without
// limit.
func (t *Table) String(width int) string {
	widths := t.widths()
	var b strings.Builder
	for r, row := range t.rows {
		left := width
		for i, cell := range row {
			text, padding := cell, widths[i]-utf8.RuneCountInString(cell)
			if i == len(row)-1 {
				padding = 0
			}
			if width > 0 {
				text = Cut(text, left)
			}
			used := utf8.RuneCountInString(text)
			if t.paint[r] != nil {
				text = t.paint[r](i, text)
			}
			b.WriteString(text)
			if i == len(row)-1 {
				break
			}
			gap := strings.Repeat(" ", padding) + columnGap
			left -= used + len(gap)
			if width > 0 && left <= 0 {
				break
			}
			b.WriteString(gap)
		}
		b.WriteByte('\n')
	}
	lines := strings.Split(b.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// Cut shortens a text to at most n characters, with an ellipsis in place of the rest.
func Cut(text string, n int) string {
	if n <= 0 {
		return ""
	}
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	runes := []rune(text)
	return string(runes[:n-1]) + "…"
}
