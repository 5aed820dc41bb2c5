package values

import (
	"bytes"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Merge sets values in a YAML file of values, which may be empty, and keeps its comments and order.
func Merge(file []byte, settings []Setting) ([]byte, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(file, &document); err != nil {
		return nil, errors.New("the file is not YAML")
	}
	if document.Kind == 0 || document.Content[0].Tag == "!!null" {
		document = yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode, Tag: "!!map"}},
			HeadComment: document.HeadComment, FootComment: document.FootComment}
	}
	for _, s := range settings {
		if err := merge(document.Content[0], s); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name(), err)
		}
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(&document); err != nil {
		return nil, fmt.Errorf("encode the values: %w", err)
	}
	return out.Bytes(), nil
}

// merge sets one value below a mapping.
func merge(at *yaml.Node, s Setting) error {
	for _, key := range s.Key {
		if at.Kind == yaml.AliasNode {
			return errors.New("the file has an alias there, and its anchor may be used elsewhere")
		}
		if at.Tag == "!!null" || at.Kind == 0 {
			*at = yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		}
		if at.Kind != yaml.MappingNode {
			return errors.New("the file has no map there")
		}
		at = member(at, key)
	}
	var value yaml.Node
	if err := value.Encode(integers(s.Wanted)); err != nil {
		return fmt.Errorf("encode the value: %w", err)
	}
	value.HeadComment, value.LineComment, value.FootComment = at.HeadComment, at.LineComment, at.FootComment
	if at.Kind == yaml.ScalarNode && value.Kind == yaml.ScalarNode && at.Tag == value.Tag && value.Style == 0 {
		value.Style = at.Style // quotes stay
	}
	*at = value
	return nil
}

// member returns the value of a key in a mapping, and adds a missing key.
func member(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	value := &yaml.Node{}
	mapping.Content = append(mapping.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, value)
	mapping.Style = 0 // an empty map is written in a line
	return value
}
