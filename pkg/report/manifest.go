package report

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v2"
)

// withheld stands in the place of a document of which it is not known whether it holds a Secret.
const withheld = "# helm-locker: this document is not YAML throughout, so it is not known whether it holds a Secret, and it is not shown\n"

// Manifest returns a manifest in which no value of a Secret is left. Documents without Secrets stay as they are, comments
// and all, but for values of the manifest's Secrets that they quote; those with one are encoded again, masked; those that do not
// parse are left out, and a comment says so.
func (m Masker) Manifest(text string) string {
	if m.Show {
		return text
	}
	docs := documents(text)
	v := Values{exact: map[string]string{}}
	for _, doc := range docs {
		// What does not parse is not shown, so that its values do not matter.
		_ = v.addDocument(doc.text)
	}
	v = v.sorted()
	var out strings.Builder
	for _, doc := range docs {
		out.WriteString(m.Text(doc.separator, v))
		out.WriteString(m.document(doc.text, v))
	}
	return out.String()
}

type document struct{ separator, text string }

// documents cuts a manifest at every line that starts with three dashes, as Helm does.
func documents(text string) []document {
	docs := []document{{}}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "---") {
			docs = append(docs, document{separator: line})
			continue
		}
		docs[len(docs)-1].text += line
	}
	return docs
}

// marker is what stands for a value already, so that no other value is looked for in it.
type marker string

func (m Masker) document(text string, values Values) string {
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

// source returns the comment in which Helm names the template; any other comment could quote what is masked.
func source(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	if strings.HasPrefix(line, "# Source: ") {
		return line + "\n"
	}
	return ""
}

// eachSecret calls do for every Secret in a decoded value, however deep it lies in Lists. Inherited is the kind that items of
// a typed list have when they do not say it themselves.
func eachSecret(value any, inherited string, do func(secret map[any]any)) {
	switch v := value.(type) {
	case map[any]any:
		kind := inherited
		if own, found := v["kind"]; found {
			kind = fmt.Sprint(own)
		}
		if kind == "Secret" {
			do(v)
		}
		for _, member := range v {
			eachSecret(member, strings.TrimSuffix(kind, "List"), do)
		}
	case []any:
		for _, element := range v {
			eachSecret(element, inherited, do)
		}
	}
}

// maskSecret masks a Secret in place and says whether there was anything to mask: a reference to a Secret has no values.
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
