package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// document is one piece of a manifest between two separators.
type document struct {
	// index counts from 1. line is the first line of the text in the manifest, from 1.
	index int
	line  int
	text  string
}

// Helm's comment before each rendered template. Only path characters match: the path is part of errors.
var sourceComment = regexp.MustCompile(`(?m)^# Source: ([A-Za-z0-9_@+./-]{1,200})[ \t]*\r?$`)

// source returns the template's path from Helm's "# Source:" comment, or nothing. It is only searched for an error.
func (d document) source() string {
	if found := sourceComment.FindStringSubmatch(d.text[:min(len(d.text), headBytes)]); found != nil {
		return found[1]
	}
	return ""
}

const (
	// maxDepth bounds how deep a document nests. The deepest real ones, CRDs, stay well below 100.
	maxDepth = 500
	// aliasGrowth bounds the nodes and the bytes of text added by all aliases of a manifest together. The API server
	// accepts no request above 3 MiB, so real manifests need far less.
	aliasGrowth = 4 << 20
	// maxBytes bounds a manifest. A release Secret holds 1 MiB compressed, and real manifests compress by a factor
	// of 5 to 20.
	maxBytes = 16 << 20
	// maxMarks bounds the characters of one document that may begin an element (see marks). The YAML library takes up
	// to 500 bytes of memory for each.
	maxMarks = 1 << 18
	// maxNodes bounds the mappings, sequences and scalars of a manifest; a decoded one takes a hundred times the
	// memory of its text. The largest real manifests, of CRDs, have less than half of that.
	maxNodes = 1 << 18
	// maxObjectNodes is maxNodes for one object; several copies of it are in memory while it is written. The largest
	// definitions have less than half of that.
	maxObjectNodes = 1 << 16
	// maxObjects bounds the objects of a release. Each one takes memory and is watched while the release is locked.
	maxObjects = 20000
	// MaxDocuments bounds the documents of a manifest, those without an object included.
	MaxDocuments = 2 * maxObjects
	// smallBytes and smallMarks are the limits of manifests that many callers may parse at the same time: one takes
	// a few MiB.
	smallBytes = 512 << 10
	smallMarks = 1 << 14
)

const (
	bom = "\ufeff"
	// headBytes is the searched part of a document for the comment with its source.
	headBytes = 1024
)

// DocumentError is the error of Parse: the document, the position and the reason, but no content.
type DocumentError struct {
	// Doc counts the documents from 1; Line counts the lines of the manifest from 1.
	Doc, Line int
	// Source is the template's path, if Helm's comment has it.
	Source string
	Reason string
}

// Error returns "document 3 (# Source: podinfo/templates/x.yaml), line 41: reason".
func (e *DocumentError) Error() string {
	source := ""
	if e.Source != "" {
		source = " (# Source: " + e.Source + ")"
	}
	return fmt.Sprintf("document %d%s, line %d: %s", e.Doc, source, e.Line, e.Reason)
}

func (d document) errorf(line int, format string, args ...any) error {
	return &DocumentError{Doc: d.index, Line: line, Source: d.source(), Reason: fmt.Sprintf(format, args...)}
}

// split cuts a manifest into documents as Helm does: at every line that starts with "---", optionally followed by
// spaces and a comment. The text before the first separator is a document only when it is not empty.
func split(manifest string) ([]document, error) {
	manifest = strings.TrimPrefix(manifest, bom)
	if docs, err := splitJSON(manifest); docs != nil || err != nil {
		return docs, err
	}
	var (
		docs  []document
		start int // offset of the current document
		first = 1 // its line
		line  = 1
	)
	add := func(end int) error {
		text := manifest[start:end]
		if len(docs) == 0 && start == 0 && strings.TrimSpace(text) == "" {
			return nil
		}
		doc := document{index: len(docs) + 1, line: first, text: text}
		if len(docs) == MaxDocuments {
			return tooMany(doc)
		}
		docs = append(docs, doc)
		return nil
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
				return nil, doc.errorf(
					line, "it starts with --- but is no document separator: only spaces and a comment may follow",
				)
			}
			if err := add(offset); err != nil {
				return nil, err
			}
			start, first = next, line+1
		}
		offset = next
	}
	if start < len(manifest) {
		if err := add(len(manifest)); err != nil {
			return nil, err
		}
	}
	return docs, nil
}

func tooMany(doc document) error {
	return doc.errorf(doc.line, "the manifest has more than %d documents", MaxDocuments)
}

// splitJSON cuts a stream of JSON objects without separators, which Helm accepts when nothing precedes the first one.
// It returns nil for any other text; a single JSON object is YAML.
func splitJSON(manifest string) ([]document, error) {
	if !strings.HasPrefix(strings.TrimSpace(manifest), "{") {
		return nil, nil
	}
	var docs []document
	line, counted := 1, 0
	for decoder := json.NewDecoder(strings.NewReader(manifest)); ; {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			return docs, nil
		} else if err != nil {
			return nil, nil //nolint:nilerr // then it is YAML
		}
		start := int(decoder.InputOffset()) - len(raw)
		line += strings.Count(manifest[counted:start], "\n")
		counted = start
		doc := document{index: len(docs) + 1, line: line, text: manifest[start : start+len(raw)]}
		if len(docs) == MaxDocuments {
			return nil, tooMany(doc)
		}
		docs = append(docs, doc)
	}
}
