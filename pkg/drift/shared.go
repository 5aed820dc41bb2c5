package drift

import (
	"maps"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/rancher/helm-locker/pkg/managers"
)

// Shares are the fields of Helm's next server-side apply that other managers own. Such a manager makes the apply fail
// with a conflict when the apply changes the field.
type Shares struct {
	// Fields are the shared fields in the notation of managed fields. Unset are those of them without a live value: the
	// API server drops some blank values, and no manager loses a value with such a field.
	Fields, Unset *fieldpath.Set
	// Changes report them, with the operation Shared.
	Changes []Change
}

// Shares returns the fields of the request that other managers own. An entry of managedFields that cannot be read owns
// nothing. A write through the subresource status changes little else, so its entry does not count.
func (r Request) Shares(managedFields []metav1.ManagedFieldsEntry, live map[string]any, helm string) Shares {
	all := &fieldpath.Set{}
	for i := range managedFields {
		entry := &managedFields[i]
		if managers.Applied(entry, helm) || entry.Subresource == "status" {
			continue
		}
		if fields, ok := fieldsOf(entry); ok {
			all = all.Union(fields)
		}
	}
	s := sharer{ignore: r.Ignore, blank: r.Blank, found: Shares{Fields: &fieldpath.Set{}, Unset: &fieldpath.Set{}}}
	if all.Empty() {
		return s.found
	}
	sent := withBlank(r.Desired, r.Blank, func(any) bool { return true })
	if folded := foldedKeys(r.Desired, r.Blank); len(folded) > 0 {
		sent = maps.Clone(sent)
		sent[stringData], s.folded = folded, true
		data := maps.Clone(mapOf(sent["data"]))
		maps.DeleteFunc(data, func(key string, _ any) bool { _, ok := folded[key]; return ok })
		setData(sent, data, r.Blank, folded)
	}
	s.object(rootOf(all, sent, live), sent, r.Schema.root)
	return s.found
}

// sharer walks the request and the fields of other owners side by side.
type sharer struct {
	ignore func([]string) bool
	blank  map[string]any
	folded bool // keys of stringData are those of data
	path   []string
	where  fieldpath.Path
	found  Shares
}

func (s *sharer) object(p place, want map[string]any, n *node) {
	for _, key := range slices.Sorted(maps.Keys(want)) {
		s.below(p, key, want[key], n.field(key), false)
	}
}

// below visits a field or an element of a list.
func (s *sharer) below(p place, segment string, want any, n *node, element bool) {
	next, name := p.down(segment)
	if next.nothing() {
		return
	}
	s.path, s.where = append(s.path, segment), append(s.where, name)
	defer func() { s.path, s.where = s.path[:len(s.path)-1], s.where[:len(s.where)-1] }()
	if s.ignored() || s.isFilledIn(next.have) || isAddedTo(want, next.have, n) {
		return
	}
	if next.itself && (element || isOneValue(want, n)) {
		s.found.Fields.Insert(slices.Clone(s.where))
		if next.have == nil {
			s.found.Unset.Insert(slices.Clone(s.where))
		}
		s.found.Changes = append(s.found.Changes, Change{Path: Pointer(s.path...), Op: Shared})
	}
	switch w := want.(type) {
	case map[string]any:
		s.object(next, w, n)
	case []any:
		for i, e := range w {
			s.below(next, strconv.Itoa(i), e, n.element(), true)
		}
	}
}

func (s *sharer) ignored() bool {
	path := s.path
	if s.folded && path[0] == stringData {
		path = append([]string{"data"}, path[1:]...)
	}
	return s.ignore != nil && s.ignore(path)
}

// isFilledIn reports whether the field is one that the manifest leaves to others, and live has another value there than
// the declared one. The API server may drop the declared value: an empty caBundle.
func (s *sharer) isFilledIn(live any) bool {
	var declared any = s.blank
	for _, segment := range s.path {
		tree, _ := declared.(map[string]any)
		declared = tree[segment]
	}
	text, left := declared.(string)
	return left && live != nil && live != text
}

// isAddedTo reports whether others have added to a map with one owner. Scope Declared leaves the additions alone.
func isAddedTo(want, have any, n *node) bool {
	_, isMap := want.(map[string]any)
	return isMap && n.isWhole() && !n.hasDefaults() && !equalButNulls(want, have)
}

// isOneValue reports whether managed fields name an applied value as a whole, without its parts. For a map or a list
// without a description it returns true, because they may.
func isOneValue(v any, n *node) bool {
	switch x := v.(type) {
	case map[string]any:
		return len(x) == 0 || n == nil || n.isOneValue()
	case []any:
		return len(x) == 0 || n == nil || n.list == atomicList
	}
	return true
}

// Unlike returns the differences between the ownership of a live object and the one after a server-side apply of a
// request by Helm's manager. The share of another tool built on Helm stays: releases move between tools.
func (o Owner) Unlike(r Request, managedFields []metav1.ManagedFieldsEntry, live map[string]any) []Change {
	applied := func(e metav1.ManagedFieldsEntry) bool { return managers.Applied(&e, o.Manager) }
	if !slices.ContainsFunc(managedFields, applied) {
		return []Change{{Path: Pointer("metadata", "managedFields"), Op: Shared}}
	}
	foreign := slices.DeleteFunc(slices.Clone(managedFields), func(e metav1.ManagedFieldsEntry) bool {
		return likeHelm(&e)
	})
	return r.Shares(foreign, live, o.Manager).Changes
}
