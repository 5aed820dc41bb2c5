package manifest

import (
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
)

const (
	bom = "\ufeff"
	// headBytes is how much of a document is searched for the comment that names its source.
	headBytes = 1024
)

// document is one piece of a manifest between two separators.
type document struct {
	// index counts from 1. line is the line of the manifest that the text starts at, from 1.
	index int
	line  int
	text  string
}

// The comment that Helm puts before each rendered template. Only what looks like a path is taken: it goes into errors.
var sourceComment = regexp.MustCompile(`(?m)^# Source: ([A-Za-z0-9_@+./-]{1,200})[ \t]*\r?$`)

// source returns the template's path from Helm's "# Source:" comment, or nothing. It is only looked for when something is wrong.
func (d document) source() string {
	if found := sourceComment.FindStringSubmatch(d.text[:min(len(d.text), headBytes)]); found != nil {
		return found[1]
	}
	return ""
}

// split cuts a manifest into documents as Helm does: at every line that starts with "---", after which only spaces and a
// comment may follow. The text before the first separator is a document only when it is not empty.
func split(manifest string) ([]document, error) {
	manifest = strings.TrimPrefix(manifest, bom)
	if docs := splitJSON(manifest); docs != nil {
		return docs, nil
	}
	var (
		docs  []document
		start int // offset of the current document
		first = 1 // its line
		line  = 1
	)
	add := func(end int) {
		text := manifest[start:end]
		if len(docs) == 0 && start == 0 && strings.TrimSpace(text) == "" {
			return
		}
		docs = append(docs, document{index: len(docs) + 1, line: first, text: text})
	}
	for offset := 0; offset < len(manifest); line++ {
		next := len(manifest)
		if i := strings.IndexByte(manifest[offset:], '\n'); i >= 0 {
			next = offset + i + 1
		}
		if rest, ok := strings.CutPrefix(manifest[offset:next], "---"); ok {
			rest = strings.TrimSpace(rest)
			if rest != "" && rest[0] != '#' {
				doc := document{index: len(docs) + 1, line: first}
				return nil, doc.errorf(line, "it starts with --- but is no document separator: only spaces and a comment may follow")
			}
			add(offset)
			start, first = next, line+1
		}
		offset = next
	}
	if start < len(manifest) {
		add(len(manifest))
	}
	return docs, nil
}

// splitJSON cuts a stream of JSON objects without separators, which Helm takes when nothing comes before the first one. It
// returns nil for anything else; a single JSON object is YAML.
func splitJSON(manifest string) []document {
	if !strings.HasPrefix(strings.TrimSpace(manifest), "{") {
		return nil
	}
	var docs []document
	line, counted := 1, 0
	for decoder := json.NewDecoder(strings.NewReader(manifest)); ; {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			return docs
		} else if err != nil {
			return nil
		}
		start := int(decoder.InputOffset()) - len(raw)
		line += strings.Count(manifest[counted:start], "\n")
		counted = start
		docs = append(docs, document{index: len(docs) + 1, line: line, text: string(raw)})
	}
}
