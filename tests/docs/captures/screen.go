package main

import (
	"regexp"
	"strconv"
	"strings"
)

// span is text of one style, at a column.
type span struct {
	column int
	text   string
	style
}

// style is the part of SGR (ECMA-48) used by helm-locker and the demo.
type style struct {
	bold, dim bool
	color     int // 0 is the terminal's own, 1 to 6 are red, green, yellow, blue, magenta and cyan
}

var sequence = regexp.MustCompile("\x1b\\[([0-9;]*)m|\x1b\\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|[\x0e\x0f]")

// plain returns a screen without escape sequences.
func plain(screen string) string { return sequence.ReplaceAllString(screen, "") }

// parseScreen returns the lines of a screen, without blank ones at its end. A style continues on the next line.
func parseScreen(screen string) [][]span {
	var (
		lines [][]span
		now   style
	)
	for line := range strings.SplitSeq(strings.TrimRight(screen, "\n"), "\n") {
		var spans []span
		column := 0
		add := func(text string) {
			if text != "" {
				spans = append(spans, span{column, text, now})
				column += len([]rune(text))
			}
		}
		at := 0
		for _, m := range sequence.FindAllStringSubmatchIndex(line, -1) {
			add(line[at:m[0]])
			at = m[1]
			if m[2] >= 0 {
				now = now.after(line[m[2]:m[3]])
			}
		}
		add(line[at:])
		lines = append(lines, spans)
	}
	for len(lines) > 0 && blank(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	// The prompt at the end is no output.
	if n := len(lines); n > 1 && len(lines[n-1]) == 1 && strings.TrimSpace(lines[n-1][0].text) == "$" {
		lines = lines[:n-1]
	}
	return lines
}

func blank(spans []span) bool {
	for _, r := range spans {
		if strings.TrimSpace(r.text) != "" {
			return false
		}
	}
	return true
}

// after returns the style after the parameters of an SGR sequence.
func (s style) after(parameters string) style {
	for p := range strings.SplitSeq(parameters, ";") {
		n, err := strconv.Atoi(p)
		switch {
		case err != nil || n == 0: // no parameter is 0
			s = style{}
		case n == 1:
			s.bold = true
		case n == 2:
			s.dim = true
		case n == 22:
			s.bold, s.dim = false, false
		case n >= 31 && n <= 36:
			s.color = n - 30
		case n >= 91 && n <= 96:
			s.color = n - 90
		case n == 37 || n == 39 || n == 97:
			s.color = 0
		}
	}
	return s
}
