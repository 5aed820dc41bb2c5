package report

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v2"
)

const (
	// shortest is from which length on a value of a Secret is looked for inside of other text. Shorter ones ("1", "yes")
	// occur everywhere, and are masked only where they are all of a text.
	shortest = 4
	// shortestLine is the same for a single line of a value of several lines, such as a key that is shown indented.
	shortestLine = 16
)

// Values are texts that must not get out: the values of Secrets, plain and in base64. Each leads to the value that its
// marker is made of.
type Values struct {
	exact        map[string]string
	longestFirst []string // those to look for inside of other text
}

// ValuesOf returns the values of those objects, in unstructured form, that are Secrets.
func ValuesOf(objects ...map[string]any) Values {
	v := Values{exact: map[string]string{}}
	for _, object := range objects {
		if object["kind"] != "Secret" {
			continue
		}
		for _, field := range secretFields {
			data, _ := object[field].(map[string]any)
			for _, value := range data {
				v.addField(field, value)
			}
		}
	}
	return v.sorted()
}

// ErrNotYAML says that a text may hold Secrets that cannot be found in it.
var ErrNotYAML = errors.New("a document is not YAML throughout, so that it is not known whether it holds a Secret")

// ValuesIn returns the values of all Secrets in manifests.
func ValuesIn(manifests ...string) (Values, error) {
	v := Values{exact: map[string]string{}}
	for _, text := range manifests {
		for _, doc := range documents(text) {
			decoder := yaml.NewDecoder(strings.NewReader(doc.text))
			for {
				var content any
				err := decoder.Decode(&content)
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					return Values{}, ErrNotYAML
				}
				eachSecret(content, "", func(secret map[any]any) {
					for _, field := range secretFields {
						data, _ := secret[field].(map[any]any)
						for _, value := range data {
							v.addField(field, value)
						}
					}
				})
			}
		}
	}
	return v.sorted(), nil
}

func (v Values) sorted() Values {
	for text := range v.exact {
		if len(text) >= shortest {
			v.longestFirst = append(v.longestFirst, text)
		}
	}
	// Those first that may contain others.
	slices.SortFunc(v.longestFirst, func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
	return v
}

func (v Values) addField(field string, value any) {
	text := fmt.Sprint(value)
	if plain, err := base64.StdEncoding.DecodeString(text); field == "data" && err == nil {
		text = string(plain)
	}
	v.add(text)
}

func (v Values) add(plain string) {
	if plain == "" {
		return
	}
	v.exact[plain] = plain
	v.exact[base64.StdEncoding.EncodeToString([]byte(plain))] = plain
	trimmed := strings.TrimSpace(plain)
	if trimmed == "" {
		return
	}
	v.exact[trimmed] = plain
	for line := range strings.Lines(trimmed) {
		if line = strings.TrimSpace(line); len(line) >= shortestLine {
			v.exact[line] = plain
		}
	}
}
