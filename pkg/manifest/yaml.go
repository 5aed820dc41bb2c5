package manifest

import (
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v2"
)

// decoder decodes documents into unstructured JSON. budget bounds the nodes and bytes of text still to come, nodes the
// nodes.
type decoder struct{ budget, nodes int }

func newDecoder(manifest string) *decoder {
	// A document without aliases has fewer nodes than bytes, and an escape sequence makes at most 3 bytes out of 2.
	return &decoder{budget: 3*len(manifest) + aliasGrowth, nodes: maxNodes}
}

// marks counts the characters of a text that may begin an element of YAML. Every element begins with one, so a document
// has at most three nodes for each. The count precedes the YAML library's building of nodes. Text in the form of
// structure, such as JSON in a ConfigMap, counts too.
func marks(text string) int {
	count := 0
	for i := range len(text) {
		switch text[i] {
		case ',', ':', '[', '{':
			count++
		case '-', '?':
			// Followed by a blank or a line break, of which YAML knows several, or by nothing.
			if i+1 == len(text) || text[i+1] <= ' ' || text[i+1] >= utf8.RuneSelf {
				count++
			}
		}
	}
	return count
}

// Decodable reports whether a document is within the bounds for the YAML library.
func Decodable(document string) bool { return undecodable(document) == "" }

// undecodable returns why the YAML library must not have a document; empty when it may.
func undecodable(text string) string {
	if len(text) > maxBytes {
		return fmt.Sprintf("it has %d bytes, more than %d", len(text), maxBytes)
	}
	if !utf8.ValidString(text) {
		// The YAML library would decode some of it as UTF-16, with the same characters in other bytes.
		return "it is not valid YAML: it is not UTF-8 throughout"
	}
	if marks(text) > maxMarks {
		return fmt.Sprintf("it has more than %d characters that may begin an element of YAML", maxMarks)
	}
	return ""
}

// Large reports whether parsing a manifest takes more than a few MiB of memory. Do not parse many of those at the same
// time.
func Large(manifest string) bool {
	return len(manifest) > smallBytes || marks(manifest) > smallMarks
}

// decode returns the content of the document as Helm (sigs.k8s.io/yaml, then apimachinery's JSON) decodes it: YAML 1.1,
// keys as strings, numbers as int64 or float64; the last one of duplicate keys. It returns nil for an empty document.
// rest reports text after the end of the document. Helm ignores such text.
func (d *decoder) decode(doc document) (content any, rest bool, err error) {
	if why := undecodable(doc.text); why != "" {
		return nil, false, doc.errorf(doc.firstLine(), "%s", why)
	}
	in := yaml.NewDecoder(strings.NewReader(doc.text))
	var raw any
	if err := guard(func() error { return in.Decode(&raw) }); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, false, nil
		}
		return nil, false, doc.yamlError(err)
	}
	if content, err = d.convert(raw, 0); err != nil {
		return nil, false, doc.errorf(doc.firstLine(), "%v", err)
	}
	var more any
	if err := guard(func() error { return in.Decode(&more) }); err != nil {
		return content, !errors.Is(err, io.EOF), nil
	}
	return content, more != nil, nil
}

// guard makes an error of a panic in the YAML library: one release's bad manifest must not stop the others.
func guard(decode func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the YAML parser failed")
		}
	}()
	return decode()
}

var (
	lineInError = regexp.MustCompile(`line (\d+)`)
	// yamlProblems are the YAML library's messages without quotes of the document.
	yamlProblems = []string{
		"document contains excessive aliasing", "value contains itself", "unknown anchor",
		"did not find expected", "could not find expected", "found character that cannot start any token",
		"found a tab character that violates indentation", "mapping values are not allowed in this context",
		"block sequence entries are not allowed in this context", "found unexpected end of stream",
		"found unexpected document indicator", "found unknown escape character", "control characters are not allowed",
		"invalid leading UTF-8 octet", "invalid trailing UTF-8 octet", "incomplete UTF-8 octet sequence",
		"exceeded max depth", "map merge requires map or sequence of maps as the value", "found duplicate",
		"found undefined tag handle", "invalid map key", "cannot unmarshal", "cannot decode",
	}
)

// yamlError returns the position of a YAML error. The library's own message may quote the document, so only known
// phrases pass.
func (d document) yamlError(err error) error {
	line := d.firstLine()
	if found := lineInError.FindStringSubmatch(err.Error()); found != nil {
		if n, err := strconv.Atoi(found[1]); err == nil && n > 0 {
			line = d.line + n - 1
		}
	}
	for _, problem := range yamlProblems {
		if strings.Contains(err.Error(), problem) {
			return d.errorf(line, "it is not valid YAML: %s", problem)
		}
	}
	return d.errorf(line, "it is not valid YAML")
}

// firstLine returns the line where the content starts, after blank lines and comments.
func (d document) firstLine() int {
	line := d.line
	for text := range strings.Lines(d.text) {
		if text = strings.TrimSpace(text); text != "" && text[0] != '#' {
			return line
		}
		line++
	}
	return d.line
}

func (d *decoder) convert(raw any, depth int) (any, error) {
	if d.budget--; d.budget < 0 {
		return nil, errors.New("its aliases expand to too much")
	}
	if d.nodes--; d.nodes < 0 {
		return nil, fmt.Errorf("with it the manifest has more than %d elements", maxNodes)
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("it nests deeper than %d levels", maxDepth)
	}
	switch value := raw.(type) {
	case map[any]any:
		content := make(map[string]any, len(value))
		for k, v := range value {
			key, err := convertKey(k)
			if err != nil {
				return nil, err
			}
			if _, found := content[key]; found {
				// Two keys, such as 1 and "1", are one in JSON. Helm would take either, by chance.
				return nil, errors.New("a mapping has two keys that are the same in JSON")
			}
			d.budget -= len(key)
			if content[key], err = d.convert(v, depth+1); err != nil {
				return nil, err
			}
			delete(value, k) // what is converted is not kept twice
		}
		return content, nil
	case []any:
		content := make([]any, len(value))
		for i, v := range value {
			var err error
			if content[i], err = d.convert(v, depth+1); err != nil {
				return nil, err
			}
			value[i] = nil
		}
		return content, nil
	case string:
		d.budget -= len(value)
		if utf8.ValidString(value) {
			return value, nil
		}
		// !!binary makes any bytes. JSON replaces each one that is not UTF-8.
		return string([]rune(value)), nil
	case int:
		return int64(value), nil
	case int64:
		return value, nil
	case uint64:
		return float64(value), nil
	case float64:
		return convertFloat(value)
	case bool, nil:
		return value, nil
	}
	return nil, errors.New("a value is of a type that JSON does not have")
}

// convertFloat makes an integer of a whole number, as a trip through JSON text does: up to 1e21 it has no exponent
// there.
func convertFloat(f float64) (any, error) {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return nil, errors.New("a number is not finite, which JSON does not have")
	case f == math.Trunc(f) && f >= math.MinInt64 && f < math.MaxInt64:
		return int64(f), nil
	}
	return f, nil
}

// convertKey names keys as sigs.k8s.io/yaml does.
func convertKey(key any) (string, error) {
	switch k := key.(type) {
	case string:
		return k, nil
	case int:
		return strconv.Itoa(k), nil
	case int64:
		return strconv.FormatInt(k, 10), nil
	case float64:
		switch {
		case math.IsInf(k, 1):
			return ".inf", nil
		case math.IsInf(k, -1):
			return "-.inf", nil
		case math.IsNaN(k):
			return ".nan", nil
		}
		return strconv.FormatFloat(k, 'g', -1, 32), nil
	case bool:
		return strconv.FormatBool(k), nil
	}
	return "", errors.New("a mapping has a key that is neither text, number nor boolean")
}
