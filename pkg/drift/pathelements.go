package drift

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// keyNamesIn returns the names of the merge keys in a set of list elements: one list of names, or several if versions
// of a kind differ. An empty list of names stands for elements named by their value.
func keyNamesIn(set *fieldpath.Set) [][]string {
	var all [][]string
	visit := func(element fieldpath.PathElement) {
		var names []string
		switch {
		case element.Key != nil:
			for _, f := range *element.Key {
				names = append(names, f.Name)
			}
		case element.Value == nil:
			return
		}
		if !slices.ContainsFunc(all, func(n []string) bool { return slices.Equal(n, names) }) {
			all = append(all, names)
		}
	}
	if set != nil {
		set.Members.Iterate(visit)
		set.Children.Iterate(visit)
	}
	return all
}

// pathElementIn returns how set names an element of a list, in one of the known ways. It is not ok when the element is
// not in set, and nothing below it either. sameIndex is as in pathElementOf.
func pathElementIn(
	set *fieldpath.Set, e any, sameIndex map[string]any, known [][]string,
) (fieldpath.PathElement, bool) {
	for _, names := range known {
		if element, ok := pathElementOf(e, sameIndex, names); ok && !shareOf(set, element).nothing() {
			return element, true
		}
	}
	return fieldpath.PathElement{}, false
}

// pathElementOf returns the name of a list element in managed fields, by the given merge keys. The server defaulted a
// key that the element lacks: a protocol is TCP. Any other key is taken from the live element at the same index, if
// that agrees with the rest of the keys.
func pathElementOf(e any, sameIndex map[string]any, names []string) (fieldpath.PathElement, bool) {
	if len(names) == 0 {
		return fieldpath.ValueElement(value.NewValueInterface(e)), true
	}
	m, ok := e.(map[string]any)
	if !ok {
		return fieldpath.PathElement{}, false
	}
	differs := func(name string) bool { return m[name] != nil && !deepEqual(m[name], sameIndex[name]) }
	key := make(value.FieldList, 0, len(names))
	for _, name := range names {
		v := m[name]
		switch {
		case v != nil:
		case name == "protocol":
			v = "TCP"
		case !slices.ContainsFunc(names, differs):
			v = sameIndex[name]
		}
		if v == nil {
			return fieldpath.PathElement{}, false
		}
		key = append(key, value.Field{Name: name, Value: value.NewValueInterface(v)})
	}
	key.Sort()
	return fieldpath.PathElement{Key: &key}, true
}
