package tamper

import (
	"maps"
	"slices"
	"strconv"
)

// mergeKeys returns the lists that Kubernetes merges by key, with their key fields and other unique fields: the API
// server accepts no two ports of one name. It repeats these facts so that the tests do not depend on
// the code under test.
func mergeKeys() map[string][]string {
	return map[string][]string{
		"containers": {"name"}, "initContainers": {"name"}, "env": {"name"}, "volumes": {"name"},
		"ports": {"port", "containerPort", "protocol", "name"}, "volumeMounts": {"mountPath"},
		"volumeDevices": {"devicePath"}, "drivers": {"name"},
		"hostAliases": {"ip"}, "imagePullSecrets": {"name"}, "secrets": {"name"}, "webhooks": {"name"},
		"topologySpreadConstraints": {"topologyKey", "whenUnsatisfiable"},
	}
}

// isMerged reports whether Kubernetes merges a list by key, or as a set.
func (o *object) isMerged(path []string) bool {
	list := path[len(path)-1]
	switch kind := o.declared.GetKind(); {
	case len(path) == 2 && path[0] == "metadata" && list == "finalizers":
		return true
	case kind == "Tree":
		return list == "listeners" || list == "tags" // as its definition says
	case kind == "Path": // the same
		return slices.Contains([]string{"hosts", "weights", "names", "tags", "kinds", "remove", "listeners", "headers",
			"add"}, list)
	case !o.builtIn() || o.isDefinition() || kind == "NetworkPolicy":
		return false
	case kind == "ServiceAccount":
		return list == "secrets" // its imagePullSecrets are one value, those of a Pod are not
	case list == "secrets":
		return false
	}
	return mergeKeys()[list] != nil
}

// isMergeKey reports whether a path leads to the merge key of a list element. For a custom resource these are the
// keys of the list-map in the charts of this repository.
func (o *object) isMergeKey(path []string) bool {
	if len(path) < 3 {
		return false
	}
	list, field := path[:len(path)-2], path[len(path)-1]
	if _, err := strconv.Atoi(path[len(path)-2]); err != nil {
		return false
	}
	if !o.builtIn() && list[len(list)-1] == "listeners" {
		return field == "name" || field == "port"
	}
	return o.isMerged(list) && slices.Contains(mergeKeys()[list[len(list)-1]], field)
}

// orderMatters reports whether the order of a list is significant: for an atomic list, and for containers and
// variables.
func (o *object) orderMatters(path []string) bool {
	switch path[len(path)-1] {
	case "containers", "initContainers", "env":
		return true
	}
	return !o.isMerged(path)
}

// isOneValue reports whether a declared map is protected as one value, so that no key of it can belong to another
// manager. (The selector of a Service is atomic for Kubernetes, too; scope Declared leaves additions to it to tools
// that shift traffic.)
func isOneValue(path []string) bool { return len(path) > 0 && path[len(path)-1] == "nodeSelector" }

// at returns the value at a path.
func at(value any, path []string) (any, bool) {
	for _, segment := range path {
		switch v := value.(type) {
		case map[string]any:
			next, ok := v[segment]
			if !ok {
				return nil, false
			}
			value = next
		case []any:
			i, err := strconv.Atoi(segment)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			value = v[i]
		default:
			return nil, false
		}
	}
	return value, true
}

// put replaces the value at an existing path.
func put(object map[string]any, path []string, value any) {
	parent, _ := at(object, path[:len(path)-1])
	last := path[len(path)-1]
	switch p := parent.(type) {
	case map[string]any:
		p[last] = value
	case []any:
		if i, err := strconv.Atoi(last); err == nil && i < len(p) {
			p[i] = value
		}
	}
}

func length(list any) int {
	l, _ := list.([]any)
	return len(l)
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
