package drift

import (
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Ownership maps the fields of a live object to their field managers. A nil Ownership knows no owner. It is not safe
// for concurrent use.
type Ownership struct {
	entries []ownedFields
	root    place // of what any of them owns
}

type ownedFields struct {
	manager string
	fields  *fieldpath.Set
}

// NewOwnership returns the ownership in managedFields, those of live. desired and live are as in Compare; it keeps both
// and never changes them. Entries of the subresource status do not count, as status is not compared. An entry that
// cannot be read owns nothing.
func NewOwnership(managedFields []metav1.ManagedFieldsEntry, desired, live map[string]any) *Ownership {
	o, all := &Ownership{}, &fieldpath.Set{}
	for i := range managedFields {
		entry := &managedFields[i]
		if fields, ok := fieldsOf(entry); ok && entry.Subresource != "status" {
			o.entries = append(o.entries, ownedFields{entry.Manager, fields})
			all = all.Union(fields)
		}
	}
	o.root = rootOf(all, desired, live)
	return o
}

// Owned reports whether a manager that match accepts owns all of the field at path. path is as in Options.Ignore; in a
// list that desired does not have, indexes are those of the live list.
//
// The owner of a whole value (a scalar, an atomic list or map) owns everything below it. A map or list with owners of
// its parts is not owned itself: the manager of one added label does not own all labels. A list element is found by its
// merge key, so a missing one, or one with an edited key, has no owner.
func (o *Ownership) Owned(path []string, match func(manager string) bool) bool {
	if o == nil {
		return false
	}
	at, where := o.root, make(fieldpath.Path, 0, len(path))
	for i, segment := range path {
		if i > 0 && at.nothingBelow() {
			break
		}
		next, element := at.down(segment)
		if next.nothing() {
			return false
		}
		at, where = next, append(where, element)
	}
	return len(where) > 0 && at.nothingBelow() && slices.ContainsFunc(o.entries, func(e ownedFields) bool {
		return e.fields.Has(where) && match(e.manager)
	})
}

// place is a field of an object on the way down a path, with its owned part, its desired and its live value.
type place struct {
	share
	want, have any
	keyNames   map[*fieldpath.Set][][]string // what keyNamesIn returned
}

func rootOf(owned *fieldpath.Set, desired, live map[string]any) place {
	root := place{share: share{below: owned}, have: live, keyNames: map[*fieldpath.Set][][]string{}}
	if desired != nil {
		root.want = desired
	}
	return root
}

// value returns the desired value, or the live one where nothing is declared.
func (p place) value() any {
	if p.want != nil {
		return p.want
	}
	return p.have
}

// down returns the field one segment below, and its name in managed fields. An element without a name there is not
// owned.
func (p place) down(segment string) (place, fieldpath.PathElement) {
	list, isList := p.value().([]any)
	if !isList {
		element := fieldpath.FieldNameElement(segment)
		return place{
			share: shareOf(p.below, element), want: mapOf(p.want)[segment], have: mapOf(p.have)[segment],
			keyNames: p.keyNames,
		}, element
	}
	i, err := strconv.Atoi(segment)
	if err != nil || i < 0 || i >= len(list) || p.below == nil {
		return place{}, fieldpath.PathElement{}
	}
	names, known := p.keyNames[p.below]
	if !known {
		names = keyNamesIn(p.below)
		p.keyNames[p.below] = names
	}
	live, _ := p.have.([]any)
	var sameIndex map[string]any
	if i < len(live) {
		sameIndex = mapOf(live[i])
	}
	element, ok := pathElementIn(p.below, list[i], sameIndex, names)
	if !ok {
		element = fieldpath.PathElement{Index: &i}
	}
	next := place{share: shareOf(p.below, element), keyNames: p.keyNames}
	if next.have = counterpart(live, element, i); p.want != nil {
		next.want = list[i]
	}
	return next, element
}

// counterpart returns the element of a live list by its name in managed fields, or element i if they name it by its
// index.
func counterpart(live []any, element fieldpath.PathElement, i int) any {
	if element.Key == nil {
		if i < len(live) {
			return live[i]
		}
		return nil
	}
	var names []string
	for _, f := range *element.Key {
		names = append(names, f.Name)
	}
	for _, e := range live {
		if found, ok := pathElementOf(e, nil, names); ok && found.Equals(element) {
			return e
		}
	}
	return nil
}

// owns reports whether something of the field at path is owned. In the path of an addition the last segment belongs to
// the live object.
func (p place) owns(path []string, added bool) bool {
	element := false // of an injected one that was changed only a part is owned
	for i, segment := range path {
		if i > 0 && p.nothingBelow() {
			return true
		}
		if added && i == len(path)-1 {
			p.want = nil
			_, element = p.have.([]any)
		}
		if p, _ = p.down(segment); p.nothing() {
			return false
		}
	}
	// Every element is a part of a list that differs as a whole.
	_, isList := p.value().([]any)
	return p.itself || isList || element
}
