package tamper

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi3"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// shapes are the OpenAPI schemas of an API server.
type shapes struct {
	root openapi3.Root
	read map[schema.GroupVersion]map[string]any // the named schemas
}

func newShapes(client discovery.DiscoveryInterface) *shapes {
	return &shapes{openapi3.NewRoot(client.OpenAPIV3()), map[schema.GroupVersion]map[string]any{}}
}

// shapesOf returns the schemas of objects.
func (w *fixture) shapesOf(t *testing.T, objects []*object) map[*object]shape {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(w.env.Cluster.RESTConfig())
	check.NoError(t, err)
	known := newShapes(client)
	found := map[*object]shape{}
	for _, o := range objects {
		found[o], err = known.of(o.declared.GroupVersionKind())
		check.NoError(t, err)
	}
	return found
}

// shape is the schema of a value, with the schemas it references.
type shape struct {
	schema map[string]any
	named  map[string]any
}

// of returns the schema of a kind; a shape without schema where there is none.
func (s *shapes) of(gvk schema.GroupVersionKind) (shape, error) {
	gv := gvk.GroupVersion()
	if s.read[gv] == nil {
		document, err := s.root.GVSpecAsMap(gv)
		if _, none := errors.AsType[*openapi3.GroupVersionNotFoundError](err); none {
			return shape{}, nil
		}
		if err != nil {
			return shape{}, fmt.Errorf("read the schemas of %s: %w", gv, err)
		}
		components, _ := document["components"].(map[string]any)
		s.read[gv], _ = components["schemas"].(map[string]any)
	}
	for _, v := range s.read[gv] {
		m, _ := v.(map[string]any)
		kinds, _ := m["x-kubernetes-group-version-kind"].([]any)
		for _, k := range kinds {
			kind, _ := k.(map[string]any)
			if kind["kind"] == gvk.Kind && kind["group"] == gvk.Group && kind["version"] == gvk.Version {
				return shape{m, s.read[gv]}, nil
			}
		}
	}
	return shape{}, nil
}

// resolved follows references.
func (s shape) resolved() shape {
	for range 10 {
		reference, _ := s.schema["$ref"].(string)
		if all, ok := s.schema["allOf"].([]any); ok && len(all) == 1 && reference == "" {
			only, _ := all[0].(map[string]any)
			reference, _ = only["$ref"].(string)
		}
		if reference == "" {
			break
		}
		next, _ := s.named[reference[strings.LastIndex(reference, "/")+1:]].(map[string]any)
		s.schema = next
	}
	return s
}

func (s shape) below(v any) shape {
	m, _ := v.(map[string]any)
	return shape{m, s.named}.resolved()
}

// sample returns a value of the shape that is likely to be valid: for an object, its required fields, or one field
// where none is required.
func (s shape) sample(depth int) any {
	if values, ok := s.schema["enum"].([]any); ok && len(values) > 0 {
		return values[len(values)-1]
	}
	if s.schema["x-kubernetes-int-or-string"] == true {
		return int64(7)
	}
	switch s.schema["type"] {
	case "boolean":
		return true
	case "integer":
		return int64(7)
	case "number":
		return 7.5
	case "array":
		return []any{s.below(s.schema["items"]).sample(depth - 1)}
	case "object":
		return s.sampleObject(depth)
	}
	if _, either := s.schema["oneOf"]; either { // a quantity, or a port
		return int64(7)
	}
	switch s.schema["format"] {
	case "date-time":
		return "2020-01-02T03:04:05Z"
	case "byte":
		return "YWRkZWQ="
	}
	return "added"
}

func (s shape) sampleObject(depth int) any {
	made := map[string]any{}
	if depth <= 0 {
		return made
	}
	properties, _ := s.schema["properties"].(map[string]any)
	required, _ := s.schema["required"].([]any)
	for _, name := range required {
		if key, ok := name.(string); ok {
			made[key] = s.below(properties[key]).sample(depth - 1)
		}
	}
	if len(made) == 0 && len(properties) > 0 {
		first := sortedKeys(properties)[0]
		made[first] = s.below(properties[first]).sample(depth - 1)
	}
	if len(properties) == 0 && s.schema["additionalProperties"] != nil {
		made["added"] = s.below(s.schema["additionalProperties"]).sample(depth - 1)
	}
	return made
}

// prune removes fields unknown to the shape. Some stubs have such fields, and Helm 4 refuses them.
func (s shape) prune(value any) {
	switch v := value.(type) {
	case map[string]any:
		properties, _ := s.schema["properties"].(map[string]any)
		for key, member := range v {
			switch {
			case properties[key] != nil:
				s.below(properties[key]).prune(member)
			case len(properties) > 0:
				delete(v, key)
			case s.schema["additionalProperties"] != nil:
				s.below(s.schema["additionalProperties"]).prune(member)
			}
		}
	case []any:
		for _, e := range v {
			s.below(s.schema["items"]).prune(e)
		}
	}
}

// place is a possible addition to the object.
type place struct {
	path  []string
	value any
}

// places returns every possible additional key of the live object, and every list with room for one more element.
func (s shape) places(live any) []place {
	var found []place
	var walk func(path []string, s shape, live any)
	walk = func(path []string, s shape, live any) {
		if isOfServer(path) {
			return
		}
		path = slices.Clip(path)
		switch l := live.(type) {
		case map[string]any:
			properties, _ := s.schema["properties"].(map[string]any)
			for _, name := range sortedKeys(properties) {
				at, below := slices.Concat(path, []string{name}), s.below(properties[name])
				if l[name] != nil {
					walk(at, below, l[name])
				} else if !isOfServer(at) {
					found = append(found, place{at, below.sample(4)})
				}
			}
			if more := s.schema["additionalProperties"]; more != nil && len(properties) == 0 {
				for _, name := range sortedKeys(l) {
					walk(append(path, name), s.below(more), l[name])
				}
				found = append(found, place{append(path, "added"), s.below(more).sample(4)})
			}
		case []any:
			items := s.below(s.schema["items"])
			for i, e := range l {
				walk(append(path, strconv.Itoa(i)), items, e)
			}
			if items.schema != nil {
				found = append(found, place{append(path, "-"), items.sample(4)})
			}
		}
	}
	walk(nil, s.resolved(), live)
	return found
}

// isOfServer reports fields that only the API server sets, and ignored fields.
func isOfServer(path []string) bool {
	if len(path) == 1 {
		return path[0] == "status" || path[0] == "apiVersion" || path[0] == "kind"
	}
	if len(path) > 1 && path[0] == "metadata" {
		return path[1] != "labels" && path[1] != "annotations" && path[1] != "finalizers"
	}
	return false
}
