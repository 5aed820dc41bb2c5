package drift

import (
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Unset returns the changes of declared values that leave a field unset: the API server sets an empty type or address
// of a Service, and a port of zero. Only a dry run shows the value that the API server chooses. Without one, Unset
// assumes that the API server set every field without a foreign owner. o is Helm's owner of live, and managedFields are
// live's.
func (o Owner) Unset(
	managedFields []metav1.ManagedFieldsEntry, desired, live map[string]any, changes []Change, schema Schema,
) []Change {
	if len(managedFields) == 0 {
		return nil
	}
	owners := NewOwnership(managedFields, desired, live)
	foreign := func(manager string) bool { return manager != o.Manager && !system(manager) }
	return slices.DeleteFunc(slices.Clone(changes), func(ch Change) bool {
		path := ch.Segments()
		return ch.Op != Modified || path[0] == "metadata" || !isUnset(desired, schema.root, path) ||
			owners.Owned(path, foreign)
	})
}

// isUnset reports whether the value at path is a zero with the meaning of none. A declared false is a choice: the API
// server sets no such field to true.
func isUnset(v any, n *node, path []string) bool {
	for _, segment := range path {
		switch at := v.(type) {
		case map[string]any:
			v, n = at[segment], n.field(segment)
		case []any:
			i, err := strconv.Atoi(segment)
			if err != nil || i < 0 || i >= len(at) {
				return false
			}
			v, n = at[i], n.element()
		}
	}
	switch v.(type) {
	case bool, map[string]any, []any:
		return false
	}
	return sameAsAbsent(v, n)
}
