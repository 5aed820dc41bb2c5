package report

import (
	_ "embed" // the template
	"fmt"
	"html/template"
	"regexp"
	"strings"

	"github.com/rancher/helm-locker/pkg/history"
	"github.com/rancher/helm-locker/pkg/plain"
)

//go:embed report.html
var reportPage string

// HTML returns the report as one self-contained file: no script, no font, no request. style is the style sheet, and
// icon an SVG element; both are trusted. All texts of the report are escaped.
func (d *Drift) HTML(style, icon string) (string, error) {
	parsed, err := template.New("report").Funcs(template.FuncMap{
		"line": plain.Line, "lines": diffLines, "count": plain.Count, "lock": lockPill,
		"isBad": func(n int) string { return tone(n > 0) }, "filters": func() []string { return filters },
		"group": groupOf, "bars": func(r history.Row) template.HTML {
			return template.HTML(r.SVG()) //nolint:gosec // it escapes its texts
		},
	}).Parse(reportPage)
	if err != nil {
		return "", fmt.Errorf("parse the template of the report: %w", err)
	}
	differing, rest := d.split()
	var b strings.Builder
	if err := parsed.Execute(&b, map[string]any{
		"Drift": d, "Differing": differing, "Rest": rest, "Style": template.CSS(style), //nolint:gosec // a file of the page
		"Icon": template.HTML(icon), //nolint:gosec // a file of the page
	}); err != nil {
		return "", fmt.Errorf("write the report: %w", err)
	}
	return b.String(), nil
}

// pill is a word in a colour.
type pill struct{ Tone, Word string }

// lockPill is a lock state in the colours and, except for an unknown one, the words of the status page.
func lockPill(state string) pill {
	switch state {
	case LockedYes:
		return pill{"good", "Locked"}
	case LockedDetect:
		return pill{"info", "Watched"}
	case LockedSuspended:
		return pill{"warn", "Suspended"}
	case LockedUnknown:
		return pill{"quiet", "Unknown"}
	}
	return pill{"quiet", "Not locked"}
}

// diffLine is a line of a diff. Every second of its parts is the marker of a Secret's value.
type diffLine struct {
	Class string
	Parts []diffPart
}

type diffPart struct {
	Text   string
	Marker bool
}

var markerText = regexp.MustCompile(`<secret [0-9a-f]{8}>`)

func diffLines(diff string) []diffLine {
	var lines []diffLine
	for text := range strings.Lines(diff) {
		text = plain.Line(strings.TrimSuffix(text, "\n"))
		line := diffLine{}
		switch {
		case strings.HasPrefix(text, "+"):
			line.Class = "ins"
		case strings.HasPrefix(text, "-"):
			line.Class = "del"
		case strings.HasPrefix(text, "@"):
			line.Class = "at"
		}
		end := 0
		for _, at := range markerText.FindAllStringIndex(text, -1) {
			line.Parts = append(line.Parts, diffPart{Text: text[end:at[0]]}, diffPart{text[at[0]:at[1]], true})
			end = at[1]
		}
		line.Parts = append(line.Parts, diffPart{Text: text[end:] + "\n"})
		lines = append(lines, line)
	}
	return lines
}
