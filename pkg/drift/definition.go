package drift

import (
	"fmt"

	"k8s.io/client-go/util/jsonpath"
)

// maxSchemaDepth bounds the depth to which the schema of a custom resource is followed. Everything below it is unknown,
// and lists there are atomic. Structural schemas cannot contain themselves, and real ones end long before.
const maxSchemaDepth = 100

// ForDefinition returns the schema of one version of a custom kind from the content of its CustomResourceDefinition
// (apiextensions.k8s.io/v1, as the API server returns it). x-kubernetes-list-type makes a list a map (keyed), a set,
// or, by default, atomic. Maps of x-kubernetes-map-type atomic have exactly the declared keys. Embedded resources have
// the metadata of any object.
//
// It fails when the definition has no such version. An inconsistent part of a schema counts as unknown. The result
// holds only departures from the default, and nothing of crd. Compile each version of a definition once, and keep the
// result.
func (s *Schemas) ForDefinition(crd map[string]any, version string) (Schema, error) {
	spec, _ := crd["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	for _, v := range versions {
		declared, _ := v.(map[string]any)
		if name, ok := declared["name"].(string); !ok || name != version {
			continue
		}
		validation, _ := declared["schema"].(map[string]any)
		openAPI, _ := validation["openAPIV3Schema"].(map[string]any)
		compiled := s.ofDefinition(openAPI)
		compiled.replicas = replicasOf(declared)
		return compiled, nil
	}
	return Schema{}, fmt.Errorf("the CustomResourceDefinition has no version %q", version)
}

func (s *Schemas) ofDefinition(openAPI map[string]any) Schema {
	metadata := s.other.root.object.fields["metadata"]
	d := definition{metadata: metadata}
	root := &object{fields: map[string]*node{"metadata": metadata}}
	properties, _ := openAPI["properties"].(map[string]any)
	for name, p := range properties {
		switch name {
		case "apiVersion", "kind", "metadata", "status":
			continue
		}
		if n := d.compile(p, maxSchemaDepth); n != nil {
			root.fields[name] = n
		}
	}
	return Schema{root: &node{object: root}, complete: true}
}

// replicasOf returns the pointer to the replicas in objects of one version of a custom kind, as its definition has it
// for the subresource scale; empty for none. The API server takes field names only.
func replicasOf(version map[string]any) string {
	subresources, _ := version["subresources"].(map[string]any)
	scale, _ := subresources["scale"].(map[string]any)
	text, _ := scale["specReplicasPath"].(string)
	parsed, err := jsonpath.Parse("replicas", "{"+text+"}")
	if err != nil || len(parsed.Root.Nodes) != 1 {
		return ""
	}
	list, ok := parsed.Root.Nodes[0].(*jsonpath.ListNode)
	if !ok {
		return ""
	}
	var path []string
	for _, n := range list.Nodes {
		field, ok := n.(*jsonpath.FieldNode)
		if !ok {
			return ""
		}
		path = append(path, field.Value)
	}
	return Pointer(path...)
}

// definition is the work on one schema of a custom kind.
type definition struct{ metadata *node }

// compile describes a field; nil when neither the field nor anything below it departs from the default.
func (d definition) compile(schema any, depth int) *node {
	m, ok := schema.(map[string]any)
	if !ok || depth == 0 {
		return nil
	}
	if items, ok := m["items"].(map[string]any); ok {
		return d.compileList(m, items, depth)
	}
	if m["x-kubernetes-map-type"] == "atomic" {
		return compileExact(m, depth)
	}
	n := &node{}
	if embedded, ok := m["x-kubernetes-embedded-resource"].(bool); ok && embedded {
		n.object = &object{fields: map[string]*node{"metadata": d.metadata}}
	}
	properties, _ := m["properties"].(map[string]any)
	for name, p := range properties {
		if n.object != nil && name == "metadata" {
			continue // that of an embedded resource: definitions only constrain it
		}
		if field := d.compile(p, depth-1); field != nil {
			n.setField(name, field)
		}
	}
	if len(properties) == 0 && n.object == nil {
		n.elem = d.compile(m["additionalProperties"], depth-1)
	}
	if n.object == nil && n.elem == nil {
		return nil
	}
	return n
}

func (n *node) setField(name string, field *node) {
	if n.object == nil {
		n.object = &object{fields: map[string]*node{}}
	}
	n.object.fields[name] = field
}

func (d definition) compileList(m, items map[string]any, depth int) *node {
	n := &node{elem: d.compile(items, depth-1)}
	switch m["x-kubernetes-list-type"] {
	case "map":
		if n.keys = mergeKeysOf(m["x-kubernetes-list-map-keys"], items); len(n.keys) > 0 {
			n.list = keyedList
		}
	case "set":
		n.list, n.edited = setList, true
	}
	if n.list == atomicList && n.elem == nil {
		return nil
	}
	return n
}

// mergeKeysOf returns the keys of a list of type map, or none if they make no sense.
func mergeKeysOf(names any, items map[string]any) []mergeKey {
	list, _ := names.([]any)
	properties, _ := items["properties"].(map[string]any)
	keys := make([]mergeKey, 0, len(list))
	for _, e := range list {
		name, ok := e.(string)
		if !ok {
			return nil
		}
		key := mergeKey{field: name}
		property, _ := properties[name].(map[string]any)
		switch byServer := property["default"].(type) {
		case map[string]any, []any: // keys are scalars
		default:
			key.fallback = byServer
		}
		keys = append(keys, key)
	}
	return keys
}

// compileExact describes an atomic map, and the maps directly inside of it, which belong to it. Its lists are atomic.
func compileExact(m map[string]any, depth int) *node {
	n := &node{exact: true}
	if depth == 0 {
		return n
	}
	properties, _ := m["properties"].(map[string]any)
	for name, p := range properties {
		property, _ := p.(map[string]any)
		if isObject(property) {
			n.setField(name, compileExact(property, depth-1))
		}
		byServer, ok := property["default"]
		if !ok || byServer == nil {
			continue
		}
		if n.object == nil {
			n.object = &object{fields: map[string]*node{}}
		}
		if n.object.defaults == nil {
			n.object.defaults = map[string]any{}
		}
		n.object.defaults[name] = deepCopy(byServer)
	}
	if additional, ok := m["additionalProperties"].(map[string]any); ok && len(properties) == 0 &&
		isObject(additional) {
		n.elem = compileExact(additional, depth-1)
	}
	return n
}

// isObject reports whether a schema is one of maps with known content. The server's additions to unknown content are
// unknown, too.
func isObject(schema map[string]any) bool {
	_, fields := schema["properties"].(map[string]any)
	_, values := schema["additionalProperties"].(map[string]any)
	return fields || values
}
