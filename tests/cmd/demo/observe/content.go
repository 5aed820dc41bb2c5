package observe

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// content returns what an object says, without what the API server and controllers own: two looks at an object that
// nobody has touched have the same content, and so has an object that was deleted and created again as it was.
func content(obj *unstructured.Unstructured) map[string]any {
	c := obj.DeepCopy().Object
	for _, path := range [][]string{
		{"status"},
		{"metadata", "creationTimestamp"}, {"metadata", "generation"}, {"metadata", "managedFields"},
		{"metadata", "resourceVersion"}, {"metadata", "uid"},
		// Assigned anew to a Service that was created again.
		{"spec", "clusterIP"}, {"spec", "clusterIPs"},
		// Counts the rollouts, so that it differs after one and its undoing.
		{"metadata", "annotations", "deployment.kubernetes.io/revision"},
	} {
		unstructured.RemoveNestedField(c, path...)
	}
	return c
}

// describe says in words how an object differs from how it should be; have is nil for one that was deleted. The
// values of Secrets stay out.
func describe(kind string, want, have map[string]any) []string {
	if have == nil {
		return []string{"deleted"}
	}
	old, current := map[string]string{}, map[string]string{}
	flatten(old, "", want)
	flatten(current, "", have)
	var changes []string
	for _, path := range slices.Sorted(maps.Keys(old)) {
		value, found := current[path]
		switch {
		case !found:
			changes = append(changes, path+" removed")
		case value == old[path]:
		case kind == "Secret":
			changes = append(changes, path+": **** → ****")
		default:
			changes = append(changes, fmt.Sprintf("%s: %s → %s", path, old[path], value))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(current)) {
		if _, found := old[path]; !found {
			changes = append(changes, path+" added")
		}
	}
	return changes
}

// flatten puts the leaves of a value into a map by their paths.
func flatten(into map[string]string, path string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, member := range v {
			flatten(into, join(path, key), member)
		}
	case []any:
		for i, element := range v {
			flatten(into, fmt.Sprintf("%s[%d]", path, i), element)
		}
	default:
		into[path] = fmt.Sprint(v)
	}
}

// join extends a path as in spec.ports[0].name; keys with dots or slashes go into brackets.
func join(path, key string) string {
	switch {
	case strings.ContainsAny(key, "./"):
		return path + "[" + key + "]"
	case path == "":
		return key
	}
	return path + "." + key
}
