package drift

import (
	"maps"
	"reflect"

	corev1 "k8s.io/api/core/v1"
)

// disjointOf returns the fields of a struct type that hold maps without a common key: the API server refuses a key
// that is in both, so that who moved it has to be undone in both.
func disjointOf(t reflect.Type) [2]string {
	if t == reflect.TypeFor[corev1.ConfigMap]() {
		return [2]string{"data", "binaryData"}
	}
	return [2]string{}
}

// separate takes keys out of the target that are declared in the other one of two disjoint maps.
func (c *comparer) separate(desired, target map[string]any, n *node) map[string]any {
	if n == nil || n.object == nil || n.object.disjoint[0] == "" {
		return target
	}
	names := n.object.disjoint
	for i, field := range names {
		declared, _ := desired[names[1-i]].(map[string]any)
		own, _ := desired[field].(map[string]any)
		have, _ := target[field].(map[string]any)
		var kept map[string]any
		for key := range have {
			_, elsewhere := declared[key]
			if _, here := own[key]; !elsewhere || here {
				continue
			}
			if kept == nil {
				kept = maps.Clone(have)
			}
			delete(kept, key)
			c.push(field)
			c.reportAdded(key)
			c.pop()
		}
		if kept != nil {
			target = maps.Clone(target)
			target[field] = kept
		}
	}
	return target
}
