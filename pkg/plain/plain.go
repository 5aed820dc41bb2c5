// Package plain makes text from the cluster fit for people: none of it can move the cursor, end a line or hide itself
// in a terminal, nor is it longer than its place. It is pure.
package plain

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns a text from the cluster fit to stand in one line: control characters, line ends, invisible and
// direction-changing characters and invalid UTF-8 are written as Go escapes, like \n or \u202e.
func Line(text string) string { return neutral(text, func(rune) bool { return false }) }

// Block is Line for a text of several lines: line ends and tabs stay.
func Block(text string) string {
	return neutral(strings.ReplaceAll(text, "\r\n", "\n"), func(r rune) bool { return r == '\n' || r == '\t' })
}

func neutral(text string, allowed func(rune) bool) string {
	harmless := func(r rune) bool { return unicode.IsPrint(r) || allowed(r) || joins(r) }
	if utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return !harmless(r) }) < 0 {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case harmless(r):
			b.WriteRune(r)
		default:
			quoted := fmt.Sprintf("%+q", string(r))
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		i += size
	}
	return b.String()
}

// joins reports whether r belongs inside of words and pictures: joiners, soft hyphens, non-breaking spaces. They
// are invisible, and do no more than that.
func joins(r rune) bool { return r == '\u200c' || r == '\u200d' || r == '\u00a0' }
