package values

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
)

// mark is a value replaced by a unique one.
type mark struct {
	path []string
	// plain is the printed form of the value, sign that of its replacement, and marker the unique part of sign.
	plain, sign, marker string
}

// falseMark replaces a value that conditions treat as false, such as an empty text. Conditions see an empty list. The
// printed text is behind the end of the list.
type falseMark []byte

func newFalseMark(marker string) falseMark { return slices.Clip(falseMark(marker))[:0] }

// String is for templates that print the value.
func (f falseMark) String() string { return string(f[:cap(f)]) }

// MarshalJSON is for templates that print the value inside of others.
func (f falseMark) MarshalJSON() ([]byte, error) { return json.Marshal(f.String()) }

// marked returns the replacement of a value, and its mark. It returns false for values whose replacement would change
// the meaning.
func marked(value any, n int) (replacement any, m mark, ok bool) {
	m.plain, _ = text(value)
	m.marker = fmt.Sprintf("zq%dqz", n)
	m.sign = m.marker
	switch v := value.(type) {
	case string:
		switch {
		case v == "":
			return newFalseMark(m.marker), m, true
		case digits.MatchString(v):
			m.marker = strconv.Itoa(firstNumber + n)
			m.sign = m.marker
		case version.MatchString(v):
			m.sign = v + "-" + m.marker
		default:
			m.sign = v + m.marker
		}
		return m.sign, m, true
	case bool:
		if !v {
			return newFalseMark(m.marker), m, true
		}
		return m.sign, m, true // as true as any text
	case float64:
		if v == 0 {
			return newFalseMark(m.marker), m, true
		}
		m.marker = strconv.Itoa(firstNumber + n)
		m.sign = m.marker
		return float64(firstNumber + n), m, true
	}
	return nil, m, false
}

const (
	// firstNumber begins a range of numbers with six digits. Templates print all digits of those.
	firstNumber = 611_111
	mostMarks   = 1_000_000 - firstNumber
)

var (
	digits  = regexp.MustCompile(`^[0-9]+$`)
	version = regexp.MustCompile(`^v?[0-9]+(\.[0-9]+)+$`)
)

// view is an object rendered with some values marked.
type view struct {
	leaves leaves
	marks  []mark
}

// marker renders an object with marked values.
type marker struct {
	renderer *renderer
	task     task
	object   object
	present  map[string]any
	// views are the renders, unmarked the paths of values that cannot be marked.
	views    []view
	unmarked [][]string
	// left counts the remaining renders.
	left int
}

// run marks all values at paths together. If that does not render, it marks one half after the other.
func (m *marker) run(paths [][]string) {
	if len(paths) == 0 {
		return
	}
	if m.left > 0 {
		m.left--
		if found, ok := m.try(paths); ok {
			m.views = append(m.views, found)
			return
		}
	}
	if len(paths) == 1 || m.left <= 0 {
		m.unmarked = append(m.unmarked, paths...)
		return
	}
	m.run(paths[:len(paths)/2])
	m.run(paths[len(paths)/2:])
}

func (m *marker) try(paths [][]string) (view, bool) {
	var v view
	t := m.task
	t.change = func(_ *chart.Chart, top map[string]any) {
		for i, path := range paths[:min(len(paths), mostMarks)] {
			value, _ := Get(m.present, path)
			replacement, sign, ok := marked(value, i)
			if ok && put(top, append([]string{"Values"}, path...), replacement) {
				sign.path = path
				v.marks = append(v.marks, sign)
			}
		}
	}
	rendered, err := m.renderer.render(t)
	if err != nil {
		return v, false
	}
	found, ok := rendered.at(m.object.file, m.object.ID.Kind, m.object.n)
	if !ok {
		return v, false
	}
	v.leaves = leavesOf(found.Content)
	// Another shape means that a condition changed, and hides the values of the missing fields.
	was := leavesOf(m.object.Content)
	for pointer := range was {
		if _, found := v.leaves[pointer]; !found {
			return v, len(paths) == 1
		}
	}
	return v, true
}

// plainText replaces all signs in a text by their values, except for one mark.
func (v view) plainText(text string, but int) string {
	for i, m := range v.marks {
		if i != but && strings.Contains(text, m.marker) {
			text = strings.ReplaceAll(text, m.sign, m.plain)
		}
	}
	return text
}

// solve returns the value of a mark with which the marked text becomes the wanted one.
func (v view) solve(marked, wanted string, n int) (string, bool) {
	m := v.marks[n]
	if !strings.Contains(marked, m.marker) {
		return "", false
	}
	parts := strings.Split(v.plainText(marked, n), m.sign)
	if len(parts) == 1 {
		return wanted, true // only a part of it is there: the trial decides
	}
	first, last := parts[0], parts[len(parts)-1]
	room := len(wanted) - len(strings.Join(parts, ""))
	if room < 0 || room%(len(parts)-1) != 0 || !strings.HasPrefix(wanted, first) || !strings.HasSuffix(wanted, last) {
		return "", false
	}
	value := wanted[len(first) : len(first)+room/(len(parts)-1)]
	return value, strings.Join(parts, value) == wanted
}

// solveAll returns the values of all marks in a text for it to become the wanted one.
func (v view) solveAll(marked, wanted string) map[int]string {
	var order []int
	for i, m := range v.marks {
		if strings.Count(marked, m.sign) == 1 {
			order = append(order, i)
		}
	}
	if len(order) < 2 || len(order) > 8 {
		return nil
	}
	slices.SortFunc(order, func(a, b int) int {
		return strings.Index(marked, v.marks[a].sign) - strings.Index(marked, v.marks[b].sign)
	})
	pattern, rest := "(?s)^", marked
	for _, i := range order {
		before, after, found := strings.Cut(rest, v.marks[i].sign)
		if !found {
			return nil
		}
		pattern += regexp.QuoteMeta(before) + "(.*?)"
		rest = after
	}
	compiled, err := regexp.Compile(pattern + regexp.QuoteMeta(rest) + "$")
	if err != nil {
		return nil
	}
	match := compiled.FindStringSubmatch(wanted)
	if match == nil {
		return nil
	}
	values := map[int]string{}
	for n, i := range order {
		values[i] = match[n+1]
	}
	return values
}

// decoded returns the text behind a base64 one, and whether it has a marker.
func (v view) decoded(text string) (string, bool) {
	plain, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", false
	}
	holds := func(m mark) bool { return strings.Contains(string(plain), m.marker) }
	return string(plain), slices.ContainsFunc(v.marks, holds)
}

// decodedWanted returns the text behind a wanted base64 one.
func decodedWanted(text string) (string, bool) {
	plain, err := base64.StdEncoding.DecodeString(text)
	return string(plain), err == nil
}

// converted returns a text as a value of the type of present, or else as its YAML scalar.
func converted(text string, present any) any {
	switch present.(type) {
	case string:
		return text
	case nil:
		return text
	}
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return text
	}
	return value
}
