package docs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// volatile are the variable parts of an output, with their replacements. The order matters: longer ones first.
var volatile = []struct {
	what *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`\x1b\[[0-9;]*m`), ""},
	{regexp.MustCompile(
		`(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? (?:\d{1,2} )?[A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d(?: [+-]?[\w]+)?(?: \d{4})?`,
	), "TIME"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?: ?(?:Z|[+-]\d\d:?\d\d|UTC))*`), "TIME"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d(?:\.\d+)?Z?`), "TIME"},
	{regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "UID"},
	{regexp.MustCompile(`\bUID/\d+`), "UID/N"},
	{regexp.MustCompile(`\b[a-z0-9-]+-[a-z0-9]{8,10}-[a-z0-9]{5}\b`), "POD"},
	{regexp.MustCompile(`<secret [0-9a-f]{8}>`), "SECRET"},
	{regexp.MustCompile(`\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b`), "IP"},
	{regexp.MustCompile(`\bv?\d+\.\d+\.\d+(?:[-+][\w.+-]+)?(?:/\d+)?\b`), "VERSION"},
	{regexp.MustCompile(`\b(?:sha256:)?[0-9a-f]{12,64}\b`), "DIGEST"},
	{regexp.MustCompile(`(resourceVersion|generation|observedGeneration): "?\d+"?`), "$1: N"},
	{regexp.MustCompile(`\b(?:\d+d)?(?:\d+h)?(?:\d+m)?\d+(?:\.\d+)?(?:ns|µs|ms|s|m|h|d)\b`), "AGE"},
	{regexp.MustCompile(`\(x\d+ over AGE\)`), ""},
}

var gaps = regexp.MustCompile(`(\S)[ \t]+`)

// neutral replaces the variable parts of a line, and normalizes the widths of columns.
func neutral(line string) string {
	for _, v := range volatile {
		line = v.what.ReplaceAllString(line, v.as)
	}
	return strings.TrimRight(gaps.ReplaceAllString(line, "$1 "), " ")
}

// omitted reports whether a line stands for any number of lines.
func omitted(line string) bool {
	trimmed := strings.TrimSpace(line)
	return trimmed == "[...]" || trimmed == "..."
}

// differs describes the difference of an output from the page; nil for none.
func differs(want []string, got string) error {
	want, lines := trimmed(want), trimmed(strings.Split(got, "\n"))
	if match(want, lines) {
		return nil
	}
	return fmt.Errorf("the page says\n%s\nit prints\n%s", show(want), show(lines))
}

func show(lines []string) string { return "    " + strings.Join(lines, "\n    ") }

// trimmed makes lines neutral and drops blank ones at both ends.
func trimmed(lines []string) []string {
	var list []string
	for _, l := range lines {
		if noise.MatchString(l) {
			continue
		}
		if l = neutral(l); l != "" || len(list) > 0 {
			list = append(list, l)
		}
	}
	for len(list) > 0 && list[len(list)-1] == "" {
		list = list[:len(list)-1]
	}
	return byRelease(list)
}

// noise is a line of kubectl wait that client-go logs when it ends its own watch, by chance.
var noise = regexp.MustCompile(`^I\d{4} .* reflector\.go:\d+\] "Warning: watch ended with error"`)

// progress is a line of --wait for several releases. Each release has an order of its own: the watch mixes them.
var progress = regexp.MustCompile(`^release (\S+/\S+): (?:waiting for|done)`)

// byRelease sorts each run of progress by release.
func byRelease(lines []string) []string {
	of := func(line string) string {
		if found := progress.FindStringSubmatch(line); found != nil {
			return found[1]
		}
		return ""
	}
	for begin := 0; begin < len(lines); begin++ {
		end := begin
		for end < len(lines) && of(lines[end]) != "" {
			end++
		}
		slices.SortStableFunc(lines[begin:end], func(a, b string) int { return strings.Compare(of(a), of(b)) })
		begin = end
	}
	return lines
}

// match compares line by line; an omission matches as many lines as it takes.
func match(want, got []string) bool {
	for len(want) > 0 {
		if omitted(want[0]) {
			for skip := 0; skip <= len(got); skip++ {
				if match(want[1:], got[skip:]) {
					return true
				}
			}
			return false
		}
		if len(got) == 0 || want[0] != got[0] {
			return false
		}
		want, got = want[1:], got[1:]
	}
	return len(got) == 0
}
