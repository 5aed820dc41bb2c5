package drift

import (
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Author is the author of a change, as the API server recorded it. The zero value is an unknown author.
type Author struct {
	Manager     string
	Operation   string
	Subresource string
	// Time is the manager's last change of its fields, in whole seconds.
	Time time.Time
}

// Attribution holds the changes of one author.
type Attribution struct {
	Author
	Changes []Change
}

// maxAuthors bounds the result of Attribute. A writer can use any number of names.
const maxAuthors = 10

// Attribute returns the authors of changes, which Compare found between desired and live: an attribution for each
// author, in the order of their first changes. The changes of an unknown author come last. managedFields are those of
// live.
//
// The author of a change is the foreign manager that owns its path, the latest of several. If Helm's own entry owns a
// changed value, a client wrote under Helm's name, and Attribute returns that name with its time.
//
// A removed field has no owner. If the merge key of a list element was edited, the author is the one of the element in
// its place. Any other removal is attributed to the last writer, under two conditions: it wrote no earlier than Helm,
// and it made another of the changes or is the only writer since Helm. Managers of Kubernetes itself are never
// suspected. Otherwise the author is unknown: Attribute blames no manager for the possible change of another.
func Attribute(
	managedFields []metav1.ManagedFieldsEntry, desired, live map[string]any, changes []Change, helm Owner,
) []Attribution {
	w := readWriters(managedFields, desired, live, helm)
	authors := make([]*metav1.ManagedFieldsEntry, len(changes))
	for i, c := range changes {
		authors[i] = w.ownerOf(c)
	}
	for i, c := range changes {
		if authors[i] == nil && c.Op == Removed {
			authors[i] = w.removed(c, changes, authors)
		}
	}
	return grouped(changes, authors)
}

// grouped returns the changes by their authors; nil is the unknown one.
func grouped(changes []Change, authors []*metav1.ManagedFieldsEntry) []Attribution {
	var all []Attribution
	var unknown []Change
	for i, c := range changes {
		if authors[i] == nil {
			unknown = append(unknown, c)
			continue
		}
		author := authorOf(authors[i])
		at := slices.IndexFunc(all, func(a Attribution) bool { return a.Author == author })
		switch {
		case at >= 0:
			all[at].Changes = append(all[at].Changes, c)
		case len(all) < maxAuthors:
			all = append(all, Attribution{author, []Change{c}})
		default:
			unknown = append(unknown, c)
		}
	}
	if len(unknown) > 0 {
		all = append(all, Attribution{Changes: unknown})
	}
	return all
}

// writers are the managedFields of a live object whose owners may have made changes.
type writers struct {
	foreign, helm []writer
	// suspect is the entry of the last writer, if it wrote no earlier than Helm; nil for none. alone is set when no
	// other foreign manager wrote since Helm.
	suspect *metav1.ManagedFieldsEntry
	alone   bool
}

// writer is an entry of managedFields with its fields.
type writer struct {
	*metav1.ManagedFieldsEntry
	root place
}

// readWriters reads all entries. A write of the status may change annotations, too; it is never the suspect for fields
// without an owner. An entry that cannot be read owns nothing.
func readWriters(managedFields []metav1.ManagedFieldsEntry, desired, live map[string]any, helm Owner) *writers {
	w := &writers{}
	var helmLast time.Time
	for i := range managedFields {
		m := &managedFields[i]
		fields, ok := fieldsOf(m)
		if !ok {
			fields = &fieldpath.Set{}
		}
		of := &w.foreign
		if helm.wrote(m) {
			of = &w.helm
			if timeOf(m).After(helmLast) {
				helmLast = timeOf(m)
			}
		}
		*of = append(*of, writer{m, rootOf(fields, desired, live)})
	}
	w.suspectSince(helmLast)
	return w
}

func (w *writers) suspectSince(helmLast time.Time) {
	suspects := 0
	var latest time.Time
	for _, m := range w.foreign {
		at := timeOf(m.ManagedFieldsEntry)
		if at.IsZero() || at.Before(helmLast) || m.Subresource == "status" || system(m.Manager) {
			continue
		}
		suspects++
		switch {
		case at.After(latest):
			w.suspect, latest = m.ManagedFieldsEntry, at
		case at.Equal(latest): // times have whole seconds
			w.suspect = nil
		}
	}
	w.alone = suspects == 1
}

// ownerOf returns the entry that owns a changed field, the latest of several; nil for none. Helm's entries come last,
// and never own a removed field.
func (w *writers) ownerOf(c Change) *metav1.ManagedFieldsEntry {
	path := parsePointer(c.Path)
	for i, group := range [...][]writer{w.foreign, w.helm} {
		if i > 0 && c.Op == Removed {
			break
		}
		var owner *metav1.ManagedFieldsEntry
		for _, m := range group {
			if later(m.ManagedFieldsEntry, owner) && m.root.owns(path, c.Op == Added) {
				owner = m.ManagedFieldsEntry
			}
		}
		if owner != nil {
			return owner
		}
	}
	return nil
}

// removed returns the author of the removal of a field without an owner; nil if unknown. authors are the owners of
// changes.
func (w *writers) removed(
	c Change, changes []Change, authors []*metav1.ManagedFieldsEntry,
) *metav1.ManagedFieldsEntry {
	list, ok := listOf(c)
	for i, other := range changes {
		if in, _ := listOf(other); ok && in == list && other.Op == Added && authors[i] != nil {
			return authors[i]
		}
	}
	if w.alone || slices.Contains(authors, w.suspect) {
		return w.suspect
	}
	return nil
}

// listOf returns the path of the list around a changed whole element; not ok for any other change.
func listOf(c Change) (path string, ok bool) {
	at := max(strings.LastIndexByte(c.Path, '/'), 0)
	_, err := strconv.Atoi(c.Path[min(at+1, len(c.Path)):])
	return c.Path[:at], err == nil
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
