package docs

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// written by a program, or in part.
var generatedPages = []string{"docs/api.md", "docs/cli.md", "docs/evidence-sample.md"}

var (
	// spans are parts of a line in which a full stop ends no sentence.
	spans = regexp.MustCompile("`[^`]*`|\\([^()]*(\\([^()]*\\)[^()]*)*\\)|\\[[^\\[\\]]*\\]")
	// twoSentences matches the end of one sentence and the beginning of the next.
	twoSentences = regexp.MustCompile(`[.!?]["'*_]* ["'*_<]*[A-Z]`)
	// lead matches a heading, and what a list item begins with.
	lead = regexp.MustCompile(`^\s*(#.*|([-*+]|\d+\.) +)`)
	// ended matches a line after which a new one may begin: the end of a sentence or of the introduction of a list.
	ended = regexp.MustCompile("([.!?:]|\\.\\.\\.)[\"'*_)\\]`]*$")
	// other matches the beginning of a line without prose, or of a paragraph.
	other = regexp.MustCompile(`^\s*($|#|\||!\[|<|>|\[[^\]]+\]:|---|===|[-*+] |\d+\. )`)
)

// Documents use the terms of Kubernetes and Helm and plain words, not this project's former private ones.
func TestDocumentsUsePlainWords(t *testing.T) {
	private := regexp.MustCompile(`(?i)\b(anew|somebody|put right|made good|takes note of|says whether|verdict)\b`)
	walk(t, ".md", func(path, content string) {
		if strings.HasPrefix(path, root+"/charts/") || slices.Contains(generatedPages, strings.TrimPrefix(path, root+"/")) {
			return
		}
		inBlock := false
		for i, line := range strings.Split(content, "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				inBlock = !inBlock
			}
			if word := private.FindString(spans.ReplaceAllString(line, "x")); word != "" && !inBlock {
				t.Errorf("%s:%d: %q", path, i+1, word)
			}
		}
	})
}

// Prose has one sentence a line, so that a change of one sentence is a change of one line.
func TestProseHasOneSentenceALine(t *testing.T) {
	walk(t, ".md", func(path, content string) {
		if slices.Contains(generatedPages, strings.TrimPrefix(path, root+"/")) {
			return
		}
		inBlock, generated, before := false, false, ""
		for i, line := range strings.Split(content, "\n") {
			fence := strings.HasPrefix(strings.TrimSpace(line), "```")
			switch {
			case strings.Contains(line, ": begin, written by"):
				generated = true
			case strings.Contains(line, ": end -->"):
				generated = false
			}
			prose := !fence && !inBlock && !generated
			inBlock = inBlock != fence
			if !prose || strings.HasPrefix(strings.TrimSpace(line), "|") {
				before = ""
				continue
			}
			text := spans.ReplaceAllString(lead.ReplaceAllString(line, ""), "x")
			check.Equal(t, twoSentences.FindString(text), "", "%s:%d: two sentences on a line, at", path, i+1)
			if before != "" && !other.MatchString(line) && !ended.MatchString(before) {
				t.Errorf("%s:%d: a sentence goes on from the line before", path, i+1)
			}
			before = ""
			if !other.MatchString(line) || lead.MatchString(line) {
				before = line
			}
		}
	})
}
