package cli

import (
	"regexp"
	"strings"

	"github.com/rancher/helm-locker/pkg/plain"
)

func inNamespace(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " in namespace " + namespace
}

// some lists the first names, and counts the others.
func some(names []string) string { return plain.Names(names, 10) }

var harmless = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// quoted returns a word as a shell takes it.
func quoted(word string) string {
	if harmless.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
