package report

import (
	"fmt"
	"strings"

	"github.com/rancher/helm-locker/pkg/manifest"
)

type document struct{ separator, text string }

// documents cuts a manifest at every line that starts with three dashes, as Helm does. It returns false beyond
// manifest.MaxDocuments.
func documents(text string) ([]document, bool) {
	var docs []document
	separator, begin, at := "", 0, 0
	for line := range strings.Lines(text) {
		next := at + len(line)
		if strings.HasPrefix(line, "---") {
			docs = append(docs, document{separator: separator, text: text[begin:at]})
			if len(docs) > manifest.MaxDocuments {
				return nil, false
			}
			separator, begin = line, next
		}
		at = next
	}
	return append(docs, document{separator: separator, text: text[begin:]}), true
}

// eachSecret calls do for every Secret in a decoded value, at any depth of Lists. Inherited is the kind of the items of
// a typed list without a kind of their own.
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

var (
	// secretFields are the fields of a Secret with values.
	secretFields = [...]string{"data", "stringData"}
	// copies are annotations with a copy of the whole object.
	copies = [...]string{"kubectl.kubernetes.io/last-applied-configuration", "objectset.rio.cattle.io/applied"}
)
