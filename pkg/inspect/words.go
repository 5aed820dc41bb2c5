package inspect

import (
	"fmt"
	"time"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/report"
)

// Describe returns the first limit changed fields in a short form for people.
func Describe(changes []Change, limit int) string {
	plain := make([]drift.Change, len(changes))
	for i, change := range changes {
		plain[i] = change.Change
	}
	return drift.Describe(plain, limit)
}

// Blame returns a line for each author with their changes and the time, in the order of the changes.
func Blame(changes []Change, now time.Time) []string {
	var authors []drift.Author
	byAuthor := map[drift.Author][]Change{}
	for _, change := range changes {
		if byAuthor[change.Author] == nil {
			authors = append(authors, change.Author)
		}
		byAuthor[change.Author] = append(byAuthor[change.Author], change)
	}
	var lines []string
	for _, author := range authors {
		what := "changed"
		if len(authors) > 1 {
			what = Describe(byAuthor[author], 3) + " changed"
		}
		if author.Manager == "" {
			lines = append(lines, what+" by an unknown author")
			continue
		}
		how := author.Operation
		if author.Subresource != "" {
			how += " of " + author.Subresource
		}
		line := fmt.Sprintf("%s by %s (%s)", what, author.Manager, how)
		if !author.Time.IsZero() {
			line += fmt.Sprintf(" at %s, %s ago", report.Time(author.Time), report.Age(author.Time, now))
		}
		lines = append(lines, line)
	}
	return lines
}
