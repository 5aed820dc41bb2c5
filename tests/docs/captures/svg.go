package main

import (
	"fmt"
	"html"
	"strings"
)

// Sizes in pixels. Each span of text is stretched to its columns, so that all fonts line up.
const (
	cellWidth  = 7.8
	lineHeight = 18
	margin     = 16
	titleBar   = 34
)

// draw returns lines of a terminal as SVG: dark, in a window, the same on light and dark pages.
func draw(title string, columns int, lines [][]span) string {
	width := float64(columns)*cellWidth + 2*margin
	height := titleBar + len(lines)*lineHeight + margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" width="%.0f" height="%d" role="img">
<title>%s</title>
<style>
  text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; fill: #d0d7de; white-space: pre }
  .b { font-weight: 700; fill: #f0f6fc } .d { fill: #8b949e }
  .c1 { fill: #ff7b72 } .c2 { fill: #3fb950 } .c3 { fill: #d29922 } .c4 { fill: #58a6ff }
  .c5 { fill: #bc8cff } .c6 { fill: #39c5cf }
</style>
<rect width="%.0f" height="%d" rx="8" fill="#0d1117" stroke="#30363d"/>
<circle cx="20" cy="18" r="5" fill="#6e7681"/><circle cx="38" cy="18" r="5" fill="#6e7681"/><circle cx="56" cy="18" r="5" fill="#6e7681"/>
`, width, height, width, height, html.EscapeString(title), width, height)
	for i, line := range lines {
		y := titleBar + i*lineHeight + 13
		for _, r := range line {
			text := strings.TrimRight(r.text, " ")
			indent := len(text) - len(strings.TrimLeft(text, " "))
			if text = strings.TrimLeft(text, " "); text == "" {
				continue
			}
			fmt.Fprintf(&b, `<text x="%.1f" y="%d" textLength="%.1f" lengthAdjust="spacingAndGlyphs"%s>%s</text>`+"\n",
				margin+float64(r.column+indent)*cellWidth, y, float64(len([]rune(text)))*cellWidth, r.class(),
				html.EscapeString(text))
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// class returns the attribute for a style; a colour wins over bold.
func (s style) class() string {
	var names []string
	if s.bold {
		names = append(names, "b")
	}
	if s.dim {
		names = append(names, "d")
	}
	if s.color > 0 {
		names = append(names, fmt.Sprintf("c%d", s.color))
	}
	if len(names) == 0 {
		return ""
	}
	return ` class="` + strings.Join(names, " ") + `"`
}
