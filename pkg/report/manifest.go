package report

import (
	"errors"
	"io"
	"strings"

	"go.yaml.in/yaml/v2"

	"github.com/rancher/helm-locker/pkg/manifest"
)

// withheld replaces a document that may hold a Secret, because it does not parse.
const withheld = "# helm-locker: this document is not YAML throughout, so it is not known whether it holds a Secret, " +
	"and it is not shown\n"

// tooManyValues replaces a manifest whose Secrets have too many values to find them all.
const tooManyValues = "# helm-locker: the Secrets of this manifest hold too many values to mask them all, and it is " +
	"not shown\n"

// Manifest returns a manifest without values of Secrets. A document without a Secret stays as it is, comments and all,
// except for the Secret values that it quotes. A document with a Secret is masked and encoded again. A document that
// does not parse is replaced by a comment.
func (m Masker) Manifest(text string) string {
	if m.Show {
		return text
	}
	docs, ok := documents(text)
	if !ok {
		return withheld
	}
	v := Values{exact: map[string]string{}}
	for _, doc := range docs {
		// A document that does not parse is not shown, so its values do not matter.
		if err := v.addDocument(doc.text); errors.Is(err, ErrTooManyValues) {
			return tooManyValues
		}
	}
	v = v.indexed()
	var out strings.Builder
	for _, doc := range docs {
		out.WriteString(m.Text(doc.separator, v))
		out.WriteString(m.document(doc.text, v))
	}
	return out.String()
}

func (m Masker) document(text string, values Values) string {
	if !manifest.Decodable(text) {
		return withheld
	}
	var (
		decoder = yaml.NewDecoder(strings.NewReader(text))
		masked  strings.Builder
		secrets bool
	)
	for {
		var content any // not yaml.MapSlice, which has the order of the keys but not what is merged in by <<
		err := decoder.Decode(&content)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return withheld
		}
		eachSecret(content, "", func(secret map[any]any) { secrets = m.maskSecret(secret) || secrets })
		encoded, err := yaml.Marshal(m.Value(content, values))
		if err != nil {
			return withheld
		}
		if masked.Len() > 0 {
			masked.WriteString("---\n")
		}
		masked.Write(encoded)
	}
	if !secrets {
		return m.Text(text, values)
	}
	return m.Text(source(text), values) + masked.String()
}

// source returns the comment in which Helm names the template. Any other comment could quote masked values.
func source(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	if strings.HasPrefix(line, "# Source: ") {
		return line + "\n"
	}
	return ""
}

// maskSecret masks a Secret in place and reports whether it has values: a reference to a Secret has none.
func (m Masker) maskSecret(secret map[any]any) (found bool) {
	for _, field := range secretFields {
		switch data := secret[field].(type) {
		case map[any]any:
			for key, value := range data {
				found = true
				data[key] = marker(m.markAny(field, value))
			}
		case nil:
		default:
			found = true
			secret[field] = marker(m.markAny(field, data))
		}
	}
	metadata, _ := secret["metadata"].(map[any]any)
	annotations, _ := metadata["annotations"].(map[any]any)
	for _, copied := range copies {
		if value, there := annotations[copied]; there {
			found = true
			annotations[copied] = marker(m.markAny("", value))
		}
	}
	return found
}
