package report

import (
	"cmp"
	"slices"
	"strings"
)

const (
	// shortest is the length of the shortest value that is masked inside of other text. Shorter ones ("1", "yes") occur
	// everywhere, and are masked only where they are the whole text.
	shortest = 4
	// shortestLine is the same for a single line of a value of several lines, such as an indented key.
	shortestLine = 8
)

// pieceBytes is the length of the longest pattern. A longer text is searched for in pieces of that length, which bounds
// the comparisons at each position.
const pieceBytes = 4 << 10

// finder finds patterns in a text. Its time grows with the length of the text, and with the logarithm of the number
// of patterns.
type finder []pattern // in the order of their texts

// pattern is a text to find, or a piece of one.
type pattern struct {
	text  string
	value string // what the marker is made of that takes its place
	piece bool   // whether it is only a piece of what is looked for
	// shorter is the index of the longest other pattern that text begins with; -1 for none.
	shorter int
}

// find is a part of a text that patterns cover.
type find struct {
	start, end int
	longest    pattern
}

// newFinder returns a finder of texts. Each text comes with the value of its marker. Texts shorter than shortest are
// left out.
func newFinder(texts map[string]string) finder {
	var f finder
	for text, value := range texts {
		if len(text) < shortest {
			continue
		}
		if len(text) <= pieceBytes {
			f = append(f, pattern{text: text, value: value})
			continue
		}
		for at := 0; at+pieceBytes < len(text); at += pieceBytes {
			f = append(f, pattern{text: text[at : at+pieceBytes], value: value, piece: true})
		}
		f = append(f, pattern{text: text[len(text)-pieceBytes:], value: value, piece: true})
	}
	slices.SortFunc(f, func(a, b pattern) int {
		return cmp.Or(cmp.Compare(a.text, b.text),
			cmp.Compare(a.value, b.value))
	})
	f = slices.CompactFunc(f, func(a, b pattern) bool { return a.text == b.text })
	for i := range f {
		before := i - 1
		for before >= 0 && !strings.HasPrefix(f[i].text, f[before].text) {
			before = f[before].shorter
		}
		f[i].shorter = before
	}
	return f
}

// longestAt returns the longest pattern that is a prefix of text.
func (f finder) longestAt(text string) (pattern, bool) {
	after, found := slices.BinarySearchFunc(f, text,
		func(p pattern, text string) int { return cmp.Compare(p.text, text) })
	if found {
		return f[after], true
	}
	// The pattern before the text in the order begins with every pattern that the text begins with.
	i := after - 1
	if i < 0 {
		return pattern{}, false
	}
	for shared := sharedPrefix(f[i].text, text); i >= 0; i = f[i].shorter {
		if len(f[i].text) <= shared {
			return f[i], true
		}
	}
	return pattern{}, false
}

func sharedPrefix(a, b string) int {
	most := min(len(a), len(b))
	for i := range most {
		if a[i] != b[i] {
			return i
		}
	}
	return most
}

// all returns the parts of a text that the patterns cover, in order. It joins overlapping patterns, and adjacent pieces
// of one text.
func (f finder) all(text string) []find {
	var finds []find
	for at := range len(text) {
		p, found := f.longestAt(text[at:])
		if !found {
			continue
		}
		next := find{start: at, end: at + len(p.text), longest: p}
		if len(finds) > 0 && finds[len(finds)-1].join(next) {
			continue
		}
		finds = append(finds, next)
	}
	return finds
}

// join extends d by the next find in the text if the two overlap or are adjacent pieces of one value. It reports
// whether it did.
func (d *find) join(next find) bool {
	pieces := d.longest.piece && next.longest.piece && d.longest.value == next.longest.value
	if next.start > d.end || next.start == d.end && !pieces {
		return false
	}
	d.end = max(d.end, next.end)
	if len(next.longest.text) > len(d.longest.text) {
		d.longest = next.longest
	}
	return true
}

// replace returns a text with the function's result for its value in place of each find.
func (f finder) replace(text string, with func(value string) string) string {
	finds := f.all(text)
	if len(finds) == 0 {
		return text
	}
	var out strings.Builder
	at := 0
	for _, d := range finds {
		out.WriteString(text[at:d.start])
		out.WriteString(with(d.longest.value))
		at = d.end
	}
	out.WriteString(text[at:])
	return out.String()
}
