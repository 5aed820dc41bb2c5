package drift

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Options are the rules of a comparison. The zero value compares everything, with all lists atomic.
type Options struct {
	// Schema holds the list semantics of the object's kind, from Schemas.For.
	Schema Schema
	// Accepted are the normal differences of this desired object.
	Accepted Baseline
	// Ignore, if set, reports whether to ignore the declared field at path (unescaped segments, list indexes those of
	// the desired list) with everything below it: it is neither compared nor written. A missing list element is
	// restored whole, since an element without its ignored fields may not be valid. Ignore must not keep the slice.
	Ignore func(path []string) bool
	// Adopted, if set, reports whether an undeclared owner reference stays.
	Adopted func(ref map[string]any) bool
	// Strict, if set, also removes additions of others (scope Strict). Ignore applies to those too, with the keys and
	// indexes of the live object for undeclared parts of a path. It does not apply inside of an added list element,
	// which is removed or stays as a whole.
	Strict *Strict
}

// Strict makes a comparison remove the undeclared additions of others to the live object, see the package comment. It
// is not changed and may be used for one object at a time only.
type Strict struct {
	// ManagedFields are those of the compared live object. Without them nothing is removed.
	ManagedFields []metav1.ManagedFieldsEntry
	// Helm is Helm's field manager on the object: the fields of a manager of this name stay. Set the one known from the
	// object in sync, if there is one: a writer that tampers with Helm's metadata must not become Helm by that. When
	// its Manager is empty, ManagedBy determines it.
	Helm Owner
	// Keep, if set, reports whether the fields of a further manager stay.
	Keep func(manager string) bool
}
