package drift

import (
	"maps"
	"reflect"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Addition is an undeclared field or list element of an object.
type Addition struct {
	// Change is the addition as a change to report: Added, with the path as in [Change].
	Change
	at    []string // in the object
	value any
}

// Nearness returns the number of leading segments that the path of the addition in the object shares with path.
func (a Addition) Nearness(path []string) int { return SharedSegments(a.at, path) }

// Equal reports whether two additions have the same path and value.
func (a Addition) Equal(b Addition) bool {
	return slices.Equal(a.at, b.at) && reflect.DeepEqual(a.value, b.value)
}

// Within reports whether an addition is another one, or a part of it.
func (a Addition) Within(b Addition) bool { return b.Nearness(a.at) == len(b.at) }

// SharedSegments returns the number of leading segments that two paths share.
func SharedSegments(a, b []string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// Parts returns the fields of an added map, or the elements of an added list; nil for any other value, and for an empty
// one.
func (a Addition) Parts() []Addition {
	part := func(segment string, v any) Addition {
		return Addition{
			Change: Change{Path: a.Path + Pointer(segment), Op: Added},
			at:     append(slices.Clone(a.at), segment), value: v,
		}
	}
	var parts []Addition
	switch value := a.value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			parts = append(parts, part(name, value[name]))
		}
	case []any:
		for i, v := range value {
			parts = append(parts, part(strconv.Itoa(i), v))
		}
	}
	return parts
}

// Additions returns the undeclared fields and list elements of object: a live object, or the Target of a comparison. A
// map or list without any declared part is one addition. managedFields are those of the live object.
//
// It leaves out ignored fields, and fields that stay in scope Strict with any owner. It also leaves out fields of a
// manager of Kubernetes, or of one that keep accepts, whatever other owners they have: any client can write as any
// manager.
func Additions(
	desired, object map[string]any, managedFields []metav1.ManagedFieldsEntry, keep func(manager string) bool,
	opt Options,
) []Addition {
	c := newCursor(opt)
	f := additionFinder{
		stripper: stripper{c: &c, desired: desired, kept: keptFieldsOf(desired)},
		owners:   NewOwnership(managedFields, nil, object),
		keeps:    func(manager string) bool { return system(manager) || keep != nil && keep(manager) },
	}
	f.fields(desired, object, opt.Schema.root)
	return f.found
}

// additionFinder walks a desired state and an object side by side. The cursor is in the desired state.
type additionFinder struct {
	stripper
	owners *Ownership
	keeps  func(manager string) bool
	at     []string // the path in the object
	found  []Addition
}

func (f *additionFinder) below(declared, at string, visit func()) {
	f.c.push(declared)
	f.at = append(f.at, at)
	if !f.c.ignored() {
		visit()
	}
	f.at = f.at[:len(f.at)-1]
	f.c.pop()
}

func (f *additionFinder) fields(want, have map[string]any, n *node) {
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if have[name] == nil || f.c.outside(name) {
			continue
		}
		f.below(name, name, func() { f.value(want[name], have[name], n.field(name)) })
	}
}

// value visits a field or an element; want is nil if it is not declared.
func (f *additionFinder) value(want, have any, n *node) {
	switch declared := want.(type) {
	case nil:
		f.undeclared(have)
	case map[string]any:
		if h, ok := have.(map[string]any); ok && (n == nil || !n.exact) {
			f.fields(declared, h, n)
		}
	case []any:
		if h, ok := have.([]any); ok {
			f.elements(declared, h, n)
		}
	}
}

func (f *additionFinder) elements(want, have []any, n *node) {
	kind := f.c.kindOf(want, n)
	for j, e := range have {
		i := j
		switch {
		case kind != atomicList:
			i = n.declarationOf(want, e)
		case len(want) != len(have):
			return
		}
		if i < 0 {
			f.below(strconv.Itoa(j), strconv.Itoa(j), func() { f.undeclared(e) })
			continue
		}
		f.below(strconv.Itoa(i), strconv.Itoa(j), func() { f.value(want[i], e, n.element()) })
	}
}

// undeclared lists the value at the current path, or, where a part of it stays, its other parts.
func (f *additionFinder) undeclared(v any) {
	if f.stays(v) {
		return
	}
	if !f.partStays(v) {
		f.found = append(f.found, Addition{
			Change: Change{Path: Pointer(f.c.path...), Op: Added}, at: slices.Clone(f.at), value: v,
		})
		return
	}
	if m, ok := v.(map[string]any); ok {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			f.below(name, name, func() { f.undeclared(m[name]) })
		}
	}
}

func (f *additionFinder) stays(v any) bool {
	return f.stripper.stays(v) || f.owners.Owned(f.at, f.keeps)
}

// partStays reports whether something below the current field is ignored or stays.
func (f *additionFinder) partStays(v any) bool {
	stays := func(segment string, v any) bool {
		kept := true // an ignored part, which below does not visit
		f.below(segment, segment, func() { kept = f.stays(v) || f.partStays(v) })
		return kept
	}
	switch x := v.(type) {
	case map[string]any:
		for name, e := range x {
			if stays(name, e) {
				return true
			}
		}
	case []any:
		for i, e := range x {
			if stays(strconv.Itoa(i), e) {
				return true
			}
		}
	}
	return false
}

// Without returns object without additions of it. It shares the unchanged parts with object.
func Without(object map[string]any, additions []Addition) map[string]any {
	places := tree{}
	for _, a := range additions {
		places.add(a.at)
	}
	return mapOf(places.cut(object))
}
