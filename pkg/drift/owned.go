package drift

import (
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// owners are the fields of foreign managers and of the others, below one field. key names the merge keys of a list
// element, which stay.
type owners struct {
	foreign, others *fieldpath.Set
	key             *value.FieldList
}

// of returns the owners of one field.
func (o owners) of(element fieldpath.PathElement) shares {
	return shares{foreign: shareOf(o.foreign, element), others: shareOf(o.others, element), key: element.Key}
}

// field is of for a field of a map.
func (o owners) field(name string) shares {
	if o.foreign == nil || o.foreign.Empty() {
		return shares{}
	}
	return o.of(fieldpath.FieldNameElement(name))
}

// shares are the parts of one field that belong to foreign managers and to the others.
type shares struct {
	foreign, others share
	key             *value.FieldList
}

// below returns the owners below the field.
func (s shares) below() owners {
	return owners{foreign: s.foreign.below, others: s.others.below, key: s.key}
}

// foreignAlone reports whether foreign managers own the field itself, and no other manager owns any part of it.
func (s shares) foreignAlone() bool { return s.foreign.itself && s.others.nothing() }

// foreignPart reports whether foreign managers own a part of the field, but not the field itself.
func (s shares) foreignPart() bool { return !s.foreign.itself && !s.foreign.nothing() }

// share is the part of one field that belongs to some managers: the field itself, and everything below it.
type share struct {
	itself bool
	below  *fieldpath.Set
}

func (s share) nothing() bool { return !s.itself && s.nothingBelow() }

func (s share) nothingBelow() bool { return s.below == nil || s.below.Empty() }

// exceeds reports whether something of the field belongs to s and not to others.
func (s share) exceeds(others share) bool {
	switch {
	case s.itself && !others.itself:
		return true
	case s.nothingBelow():
		return false
	case others.nothingBelow():
		return true
	}
	return !s.below.Difference(others.below).Empty()
}

func shareOf(set *fieldpath.Set, element fieldpath.PathElement) share {
	if set == nil {
		return share{}
	}
	below, _ := set.Children.Get(element)
	return share{itself: set.Members.Has(element), below: below}
}
