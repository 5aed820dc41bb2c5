package cli

import (
	"fmt"
	"regexp"
	"strings"
)

func inNamespace(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " in namespace " + namespace
}

// some returns the first names of a list, and the number of the others.
func some(names []string) string {
	const most = 10
	text := strings.Join(names[:min(most, len(names))], ", ")
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return text
}

var harmless = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// quoted returns a word as a shell takes it.
func quoted(word string) string {
	if harmless.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
