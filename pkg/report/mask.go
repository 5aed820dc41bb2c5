package report

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
)

// marker is the marker of a value. No other value is searched for in it.
type marker string

// Masker replaces values of Secrets by markers. A marker is a keyed hash of the value: it shows whether two values
// agree in one run of the program, and nothing else about them. A Masker with Show masks nothing.
type Masker struct {
	Show bool
	key  []byte
}

// NewMasker returns a Masker. Key must be random and new for each run: with a known key, guessed values can be
// verified.
func NewMasker(key []byte) Masker { return Masker{key: key} }

// markerBytes is the length of the hash in a marker. Two values of one Secret hardly ever share one of that length.
const markerBytes = 4

// Mark returns the marker for a value.
func (m Masker) Mark(value string) string {
	sum := hmac.New(sha256.New, m.key)
	// The Write method of a hash never returns an error.
	_, _ = sum.Write([]byte(value))
	return "<secret " + hex.EncodeToString(sum.Sum(nil)[:markerBytes]) + ">"
}

// Object returns an object in unstructured form without values of Secrets; it shares the unchanged parts. Values are
// those of all Secrets that the object may quote, on either side; see [ValuesOf].
//
// It masks data and stringData of a Secret, annotations that repeat them (kubectl's and wrangler's copies of the
// object), and every other text with one of the values. The object's identity and the names of its fields and keys
// stay.
func (m Masker) Object(object map[string]any, values Values) map[string]any {
	if m.Show || object == nil {
		return object
	}
	masked := make(map[string]any, len(object))
	for key, value := range object {
		switch {
		case key == "apiVersion" || key == "kind":
			masked[key] = value
		case key == "metadata":
			masked[key] = m.metadata(object, values)
		case object["kind"] == "Secret" && slices.Contains(secretFields[:], key):
			masked[key] = m.secretField(key, value)
		default:
			masked[key] = m.Value(value, values)
		}
	}
	return masked
}

func (m Masker) metadata(object map[string]any, values Values) any {
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		return m.Value(object["metadata"], values)
	}
	masked := make(map[string]any, len(metadata))
	for key, value := range metadata {
		annotations, isMap := value.(map[string]any)
		switch {
		case key == "name" || key == "namespace":
			masked[key] = value
		case key == "annotations" && isMap && object["kind"] == "Secret":
			masked[key] = m.Value(m.withoutCopies(annotations), values)
		default:
			masked[key] = m.Value(value, values)
		}
	}
	return masked
}

func (m Masker) withoutCopies(annotations map[string]any) map[string]any {
	marked := maps.Clone(annotations)
	for _, copied := range copies {
		if value, found := marked[copied]; found {
			marked[copied] = m.markAny("", value)
		}
	}
	return marked
}

// secretField marks each value of data or stringData.
func (m Masker) secretField(field string, value any) any {
	data, ok := value.(map[string]any)
	switch {
	case value == nil:
		return nil
	case !ok:
		return m.markAny(field, value)
	}
	marked := make(map[string]any, len(data))
	for key, value := range data {
		marked[key] = m.markAny(field, value)
	}
	return marked
}

// markAny marks a value of any type. It decodes the base64 of data first, so equal values in data and stringData have
// equal markers.
func (m Masker) markAny(field string, value any) string {
	text, ok := value.(string)
	if !ok {
		return m.Mark(fmt.Sprint(value))
	}
	if field == "data" {
		if plain, err := base64.StdEncoding.DecodeString(text); err == nil {
			text = string(plain)
		}
	}
	return m.Mark(text)
}

// Value returns a value in unstructured form with every occurrence of the values masked.
func (m Masker) Value(value any, values Values) any {
	if m.Show || len(values.exact) == 0 {
		return value
	}
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, member := range v {
			out[key] = m.Value(member, values)
		}
		return out
	case map[any]any: // of the YAML decoder
		out := make(map[any]any, len(v))
		for key, member := range v {
			out[key] = m.Value(member, values)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, element := range v {
			out[i] = m.Value(element, values)
		}
		return out
	case string:
		if plain, found := values.exact[v]; found {
			return m.Mark(plain)
		}
		return m.Text(v, values)
	case nil, bool, marker:
		return value
	default:
		if plain, found := values.exact[fmt.Sprint(v)]; found {
			return m.Mark(plain)
		}
		return value
	}
}

// Text returns a text in which the values, but for very short ones, are replaced by their markers.
func (m Masker) Text(text string, values Values) string {
	if m.Show || len(values.exact) == 0 {
		return text
	}
	return values.inside.replace(text, m.Mark)
}
