package report

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v2"

	"github.com/rancher/helm-locker/pkg/manifest"
)

// Values are the values of Secrets to mask, plain and in base64. Each form is mapped to the value of its marker.
type Values struct {
	exact  map[string]string
	inside finder // of those to look for inside of other text
	bytes  int    // of all values, in one form
}

// ValuesOf returns the values of the Secrets among objects in unstructured form.
func ValuesOf(objects ...map[string]any) Values {
	v := Values{exact: map[string]string{}}
	for _, object := range objects {
		if object["kind"] != "Secret" {
			continue
		}
		for _, field := range secretFields {
			switch data := object[field].(type) {
			case map[string]any:
				for _, value := range data {
					v.addField(field, value)
				}
			case nil:
			default:
				v.addField(field, data)
			}
		}
	}
	return v.indexed()
}

// maxValueBytes bounds the values that ValuesIn takes. All their forms together take ten times as much memory.
const maxValueBytes = 8 << 20

// ErrTooManyValues means that the values of Secrets exceed maxValueBytes.
var ErrTooManyValues = fmt.Errorf("its Secrets hold more than %d MiB of values, too much to look for in other texts",
	maxValueBytes>>20)

// ErrNotYAML means that a text does not parse, and may hold Secrets.
var ErrNotYAML = errors.New("a document is not YAML throughout, so that it is not known whether it holds a Secret")

// ValuesIn returns the values of all Secrets in manifests.
func ValuesIn(manifests ...string) (Values, error) {
	v := Values{exact: map[string]string{}}
	for _, text := range manifests {
		docs, ok := documents(text)
		if !ok {
			return Values{}, ErrNotYAML
		}
		for _, doc := range docs {
			if err := v.addDocument(doc.text); err != nil {
				return Values{}, err
			}
		}
	}
	return v.indexed(), nil
}

// addDocument adds the values of all Secrets in a document of a manifest; ErrNotYAML when it does not parse, or
// ErrTooManyValues.
func (v *Values) addDocument(text string) error {
	if !manifest.Decodable(text) {
		return ErrNotYAML
	}
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		var content any
		err := decoder.Decode(&content)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return ErrNotYAML
		}
		if v.bytes > maxValueBytes {
			return ErrTooManyValues
		}
		eachSecret(content, "", func(secret map[any]any) {
			for _, field := range secretFields {
				switch data := secret[field].(type) {
				case map[any]any:
					for _, value := range data {
						v.addField(field, value)
					}
				case nil:
				default:
					v.addField(field, data)
				}
			}
		})
	}
}

func (v Values) indexed() Values {
	v.inside = newFinder(v.exact)
	return v
}

func (v *Values) addField(field string, value any) {
	text := fmt.Sprint(value)
	if plain, err := base64.StdEncoding.DecodeString(text); field == "data" && err == nil {
		text = string(plain)
	}
	v.add(text)
}

// add adds a value in every form in which other texts quote one: unchanged, trimmed, in base64, escaped as in JSON, and
// decoded if it is base64 itself. It also adds each longer line of a value of several lines, because an indented key is
// quoted by lines.
func (v *Values) add(plain string) {
	trimmed := strings.TrimSpace(plain)
	if plain == "" {
		return
	}
	v.bytes += len(plain)
	v.exact[plain] = plain
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding,
		base64.RawURLEncoding} {
		v.exact[encoding.EncodeToString([]byte(plain))] = plain
	}
	if trimmed == "" {
		return
	}
	v.exact[trimmed] = plain
	for _, escapeHTML := range []bool{false, true} {
		v.exact[jsonEscaped(trimmed, escapeHTML)] = plain
	}
	if decoded, err := base64.StdEncoding.DecodeString(trimmed); err == nil && len(decoded) >= shortest &&
		utf8.Valid(decoded) {
		v.exact[string(decoded)] = plain
	}
	for line := range strings.Lines(trimmed) {
		if line = strings.TrimSpace(line); len(line) >= shortestLine {
			v.exact[line] = plain
		}
	}
}

// jsonEscaped returns a text as the content of a JSON string, with or without Go's escapes of <, > and &.
func jsonEscaped(text string, escapeHTML bool) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(escapeHTML)
	if encoder.Encode(text) != nil {
		return text // a text is always encoded
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(b.String(), "\n"), `"`), `"`)
}
