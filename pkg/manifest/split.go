package manifest

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
)

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
