package observe

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// content returns the fields of an object without those of the API server and the controllers: an unchanged object
// has the same content at any time, and so has one that was deleted and re-created as it was.
func content(obj *unstructured.Unstructured) map[string]any {
	c := obj.DeepCopy().Object
	for _, path := range [][]string{
		{"status"},
		{"metadata", "creationTimestamp"}, {"metadata", "generation"}, {"metadata", "managedFields"},
		{"metadata", "resourceVersion"}, {"metadata", "uid"},
		// Assigned again to a re-created Service.
		{"spec", "clusterIP"}, {"spec", "clusterIPs"},
		// Counts the rollouts: it differs after a rollout and its reversal.
		{"metadata", "annotations", "deployment.kubernetes.io/revision"},
	} {
		unstructured.RemoveNestedField(c, path...)
	}
	return c
}

// describe lists the differences between an object and its expected content; have is nil for a deleted one. It omits
// the values of Secrets.
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
