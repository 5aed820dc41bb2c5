package drift

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Author is who made a change, as the API server recorded it. The zero value means that it is not known.
type Author struct {
	Manager     string
	Operation   string
	Subresource string
	// Time is when this manager last changed what it owns, in whole seconds.
	Time time.Time
}

// Attribute says who made changes, which Compare found between desired and live. managedFields are those of live.
//
// It is the foreign manager that owns a changed path, the latest if there are several. A removed field has no
// owner any more: for removals alone it is the manager that wrote last, unless Helm wrote later, and then it is
// not known. Where Helm's own entry owns a value that was changed, a client wrote under Helm's name, and that name is
// returned with its time.
func Attribute(
	managedFields []metav1.ManagedFieldsEntry, desired, live map[string]any, changes []Change, helm Owner,
) Author {
	var owner, own, last, helmLast *metav1.ManagedFieldsEntry
	for i := range managedFields {
		entry := &managedFields[i]
		if entry.Subresource == "status" {
			continue
		}
		byHelm := helm.wrote(entry)
		switch {
		case byHelm && later(entry, helmLast):
			helmLast = entry
		case !byHelm && later(entry, last):
			last = entry
		}
		if !ownsAny(entry, desired, live, changes) {
			continue
		}
		switch {
		case byHelm && later(entry, own):
			own = entry
		case !byHelm && later(entry, owner):
			owner = entry
		}
	}
	removal := slices.ContainsFunc(changes, func(c Change) bool { return c.Op == Removed })
	switch {
	case owner != nil:
		return authorOf(owner)
	case own != nil:
		return authorOf(own)
	case removal && last != nil && !timeOf(last).IsZero() && !timeOf(last).Before(timeOf(helmLast)):
		return authorOf(last)
	}
	return Author{}
}

func (o Owner) wrote(entry *metav1.ManagedFieldsEntry) bool {
	return entry.Manager == o.Manager && entry.Operation == o.Operation && entry.Subresource == ""
}

func timeOf(entry *metav1.ManagedFieldsEntry) time.Time {
	if entry == nil || entry.Time == nil {
		return time.Time{}
	}
	return entry.Time.Time
}

// later reports whether a was written after b; an entry is later than none.
func later(a, b *metav1.ManagedFieldsEntry) bool { return b == nil || timeOf(a).After(timeOf(b)) }

func authorOf(entry *metav1.ManagedFieldsEntry) Author {
	return Author{
		Manager:     entry.Manager,
		Operation:   string(entry.Operation),
		Subresource: entry.Subresource,
		Time:        timeOf(entry),
	}
}
