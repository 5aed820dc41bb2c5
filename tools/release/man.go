package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/cpuguy83/go-md2man/v2/md2man"
)

// manHead begins a manual page: the line of its title, and the section for apropos.
const manHead = `%% "HELM-LOCKER" "1" "%s" "helm-locker %s" "helm-locker"

# NAME

helm-locker - makes Helm the only way to change what a Helm release deployed

`

// writeMan prints the command reference, which is Markdown, as a manual page.
func writeMan(out io.Writer, reference, version string, date time.Time) error {
	content, err := os.ReadFile(reference)
	if err != nil {
		return err
	}
	_, text, found := strings.Cut(string(content), "\n# ")
	if !found {
		return fmt.Errorf("%s has no title", reference)
	}
	page := fmt.Sprintf(manHead, date.Format(time.DateOnly), version) + "# " + withoutTables(text)
	_, err = out.Write(md2man.Render([]byte(page)))
	return err
}

// withoutTables writes tables of two columns as lists of definitions, which fit a terminal of any width. The title of
// the first column becomes a heading.
func withoutTables(text string) string {
	var b strings.Builder
	inTable := false
	for line := range strings.Lines(text) {
		row, isRow := strings.CutPrefix(line, "| ")
		left, right, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(row), "|"), " |")
		right = strings.TrimSpace(right)
		switch {
		case !isRow:
			b.WriteString(line)
		case !inTable:
			fmt.Fprintf(&b, "### %s\n\n", left)
		case !strings.HasPrefix(left, "---"):
			fmt.Fprintf(&b, "%s\n: %s\n\n", left, right)
		}
		inTable = isRow
	}
	return b.String()
}
