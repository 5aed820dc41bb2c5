// Package report turns what is known about releases into text for people and programs. It is pure, and it is the place
// where two things are kept: no value of a Secret gets out (see [Masker]), and no text from the cluster can move the
// cursor, end a line or hide itself in a terminal (see [Line] and [Block]).
package report

import (
	"fmt"
	"strings"
	"time"
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

// Count returns "1 object" or "2 objects".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Age returns how long a time has passed by in the form that kubectl uses, for example "5m" or "3d"; "" for no
// time, and "0s" for one to come.
func Age(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	d := max(now.Sub(t), 0)
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 2*24*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
}

// Time returns a time in UTC to the second, "" for none.
func Time(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
