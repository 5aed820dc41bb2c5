package manifest

import (
	"strconv"
)

// blanks returns the declared nulls in a value as a tree of keys and indexes; nil for none.
func blanks(value any) map[string]any {
	var found map[string]any
	visit := func(key string, member any) {
		below := blanks(member)
		if member != nil && below == nil {
			return
		}
		if found == nil {
			found = map[string]any{}
		}
		if found[key] = nil; below != nil {
			found[key] = below
		}
	}
	switch v := value.(type) {
	case map[string]any:
		for key, member := range v {
			visit(key, member)
		}
	case []any:
		for i, element := range v {
			if element != nil { // a null element stays in the content
				visit(strconv.Itoa(i), element)
			}
		}
	}
	return found
}

// Leave records that a field is left to others. A null of it is no part of Blank any more. Any other value that the
// manifest declares, nil for none, is only sent when the object is created.
func (o *Object) Leave(declared any, path ...string) {
	if declared == nil {
		unset(o.Blank, path)
		return
	}
	o.set(declared, path...)
}

func unset(tree map[string]any, path []string) {
	for _, key := range path[:len(path)-1] {
		tree, _ = tree[key].(map[string]any)
	}
	delete(tree, path[len(path)-1])
}

func (o *Object) set(value any, path ...string) {
	if o.Blank == nil {
		o.Blank = map[string]any{}
	}
	at := o.Blank
	for _, key := range path[:len(path)-1] {
		below, ok := at[key].(map[string]any)
		if !ok {
			below = map[string]any{}
			at[key] = below
		}
		at = below
	}
	at[path[len(path)-1]] = value
}
