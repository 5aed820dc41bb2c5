package report

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// Masker puts markers in the place of values of Secrets. A marker is a keyed hash of the value: it shows that two values
// differ or agree in one run of the program, and tells nothing about either. A Masker with Show masks nothing.
type Masker struct {
	Show bool
	key  []byte
}

// NewMasker returns a Masker. Key must be random, and new for each run, or values could be guessed and tried.
func NewMasker(key []byte) Masker { return Masker{key: key} }

// markerBytes is the length of the hash in a marker: enough that two values of one Secret hardly ever share one.
const markerBytes = 4

// Mark returns the marker for a value.
func (m Masker) Mark(value string) string {
	sum := hmac.New(sha256.New, m.key)
	// A hash has no error to give.
	_, _ = sum.Write([]byte(value))
	return "<secret " + hex.EncodeToString(sum.Sum(nil)[:markerBytes]) + ">"
}

// Object returns an object in unstructured form that holds no value of a Secret: itself when it is none, a copy otherwise.
// Masked are data and stringData, annotations that repeat them (kubectl's and wrangler's copies of the object), and
// every other text of the Secret that contains one of the values.
func (m Masker) Object(object map[string]any) map[string]any {
	if m.Show || object["kind"] != "Secret" {
		return object
	}
	masked := runtime.DeepCopyJSON(object)
	values := ValuesOf(object)
	for _, field := range secretFields {
		switch data := masked[field].(type) {
		case map[string]any:
			for key, value := range data {
				data[key] = m.markAny(field, value)
			}
		case nil:
		default:
			masked[field] = m.markAny(field, data)
		}
	}
	if metadata, ok := masked["metadata"].(map[string]any); ok {
		if annotations, ok := metadata["annotations"].(map[string]any); ok {
			for _, copied := range copies {
				if value, found := annotations[copied]; found {
					annotations[copied] = m.markAny("", value)
				}
			}
		}
	}
	for key, value := range masked {
		if key != "data" && key != "stringData" {
			masked[key] = m.Value(value, values)
		}
	}
	return masked
}

var (
	// secretFields are the fields of a Secret that hold values.
	secretFields = [...]string{"data", "stringData"}
	// copies are annotations in which tools keep the whole object.
	copies = [...]string{"kubectl.kubernetes.io/last-applied-configuration", "objectset.rio.cattle.io/applied"}
)

// markAny marks a value of any type. Of data, which is base64, it is what is encoded, so that it has the marker of the same
// value in stringData.
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

// Value returns a value in unstructured form in which no text is or contains one of the values.
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
	case nil, bool:
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
	for _, found := range values.longestFirst {
		if strings.Contains(text, found) {
			text = strings.ReplaceAll(text, found, m.Mark(values.exact[found]))
		}
	}
	return text
}
