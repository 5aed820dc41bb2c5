package report

import (
	"fmt"
	"strings"

	"github.com/rancher/helm-locker/pkg/plain"
)

// Markdown returns the report for a ticket. Texts from the cluster are in code spans and blocks, where they are neither
// markup nor mentions of users.
func (d *Drift) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Drift of Helm releases\n\n**%s**\n\n", d.Summary)
	if d.Cluster != "" {
		fmt.Fprintf(&b, "Cluster %s, ", code(d.Cluster))
	}
	fmt.Fprintf(&b, "%s.\n", d.Time)
	b.WriteString(UnreadContexts(d.Contexts))
	head := "\n| Release | Revision | Lock | Result |\n| --- | --- | --- | --- |\n"
	if len(d.Contexts) > 0 {
		head = "\n| Context | Release | Revision | Lock | Result |\n| --- | --- | --- | --- | --- |\n"
	}
	for i := range d.Releases {
		r := &d.Releases[i]
		if len(r.Differences) == 0 && !r.Incomplete() && r.Additions == 0 {
			continue
		}
		b.WriteString(head)
		head = ""
		if r.Context != "" {
			b.WriteString("| " + Cell(r.Context) + " ")
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %s |\n", Cell(r.Key()), r.Revision, lockColumn(r.Locked), r.Result())
	}
	for i := range d.Releases {
		d.Releases[i].markdown(&b)
	}
	return b.String()
}

// UnreadContexts returns a line of Markdown for each cluster of several with an error.
func UnreadContexts(contexts []Context) string {
	var b strings.Builder
	for _, c := range contexts {
		if c.Error != "" {
			fmt.Fprintf(&b, "\nContext %s: %s\n", code(c.Name), code(c.Error))
		}
	}
	return b.String()
}

// lockColumn is a lock state in a column; a release without a HelmRelease has none.
func lockColumn(state string) string {
	if state == "" {
		return LockedNo
	}
	return state
}

func (r *ReleaseDrift) markdown(b *strings.Builder) {
	if len(r.Differences) == 0 && !r.Incomplete() {
		return
	}
	fmt.Fprintf(b, "\n## %s\n", code(inContext(r.Context, r.Key())))
	if r.Error != "" {
		fmt.Fprintf(b, "\nNot compared: %s\n", code(r.Error))
	}
	for _, failure := range r.Failures {
		fmt.Fprintf(b, "\nNot compared: %s: %s\n", code(failure.Object.String()), code(failure.Error))
	}
	if r.ComparedLocally != "" {
		fmt.Fprintf(b, "\nCompared locally (%s): what the API server makes of a value may look like drift.\n",
			code(r.ComparedLocally))
	}
	for i := range r.Differences {
		o := &r.Differences[i]
		fmt.Fprintf(b, "\n### %s\n\n%s\n", code(o.Object.String()), code(o.What))
		for _, line := range o.Blame {
			fmt.Fprintf(b, "\n%s\n", code(line))
		}
		if o.Diff != "" {
			fence := strings.Repeat("`", max(3, backticks(o.Diff)+1))
			fmt.Fprintf(b, "\n%sdiff\n%s\n%s\n", fence, strings.TrimSuffix(plain.Block(o.Diff), "\n"), fence)
		}
	}
}

// code returns a text as a code span.
func code(text string) string {
	text = plain.Line(text)
	fence := strings.Repeat("`", backticks(text)+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") || text == "" {
		text = " " + text + " "
	}
	return fence + text + fence
}

// Cell returns a text as a code span in a table of Markdown; empty for no text.
func Cell(text string) string {
	if text == "" {
		return ""
	}
	return strings.ReplaceAll(code(text), "|", `\|`)
}

// backticks returns the length of the longest run of backticks in a text.
func backticks(text string) int {
	longest, run := 0, 0
	for _, r := range text {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
