package plain

import (
	"fmt"
	"strings"
)

// Cut shortens a text to at most limit bytes, of which there are at least 3. The cut is at the end of a character, and
// an ellipsis marks it.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const ellipsis = "…"
	return strings.ToValidUTF8(text[:max(limit-len(ellipsis), 0)], "") + ellipsis
}

// Count returns "1 object" or "2 objects".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// MaxNamed is the maximum number of things that a message names. AndMore counts the others.
const MaxNamed = 3

// Names lists the first most names, and counts the others.
func Names(names []string, most int) string {
	text := strings.Join(names[:min(most, len(names))], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Some names the first few of some things, and counts the others.
func Some[T any](all []T, separator string, name func(T) string) string {
	var names []string
	for _, one := range all[:min(MaxNamed, len(all))] {
		names = append(names, name(one))
	}
	return strings.Join(names, separator) + AndMore(len(all)-len(names))
}

// AndMore completes a list of which n things are not named; empty for none.
func AndMore(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("; and %d more", n)
}
