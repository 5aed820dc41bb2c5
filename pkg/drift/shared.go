package drift

import (
	"maps"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Shares are what managers other than Helm's own of the fields that Helm's next server-side apply sends: each makes
// that apply fail with a conflict when it changes the field.
type Shares struct {
	// Fields are as managed fields name them.
	Fields *fieldpath.Set
	// Changes report them, with the operation Shared.
	Changes []Change
}

// Request is the server-side apply that Helm's next revision makes of an object: its desired state and, as
// manifest.Object.Blank is, what Helm sends beside that.
type Request struct {
	Desired, Blank map[string]any
	Schema         Schema
	// Ignore is that of Options. Ignored fields are left to their owners.
	Ignore func(path []string) bool
}

// Shares returns what other managers than Helm's own of the request. An entry of managedFields that cannot be read owns
// nothing. A write through the subresource status changes little else, so its entry does not count.
func (r Request) Shares(managedFields []metav1.ManagedFieldsEntry, live map[string]any, helm string) Shares {
	all := &fieldpath.Set{}
	for i := range managedFields {
		entry := &managedFields[i]
		if entry.Manager == helm || entry.Subresource == "status" {
			continue
		}
		if fields, ok := fieldsOf(entry); ok {
			all = all.Union(fields)
		}
	}
	s := sharer{ignore: r.Ignore, found: Shares{Fields: &fieldpath.Set{}}}
	if all.Empty() {
		return s.found
	}
	sent := withNulls(r.Desired, r.Blank)
	if folded := foldedKeys(r.Desired, r.Blank); len(folded) > 0 {
		sent = maps.Clone(sent)
		sent[stringData], s.folded = folded, true
		data := maps.Clone(mapOf(sent["data"]))
		maps.DeleteFunc(data, func(key string, _ any) bool { _, ok := folded[key]; return ok })
		if sent["data"] = data; len(data) == 0 {
			delete(sent, "data")
		}
	}
	s.object(rootOf(all, sent, live), sent, r.Schema.root)
	return s.found
}

// sharer walks the request and what others own of the object side by side.
type sharer struct {
	ignore func([]string) bool
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

// below looks at a field or an element of a list.
func (s *sharer) below(p place, segment string, want any, n *node, element bool) {
	next, name := p.down(segment)
	if next.nothing() {
		return
	}
	s.path, s.where = append(s.path, segment), append(s.where, name)
	defer func() { s.path, s.where = s.path[:len(s.path)-1], s.where[:len(s.where)-1] }()
	if s.ignored() || isAddedTo(want, next.have, n) {
		return
	}
	if next.itself && (element || isOneValue(want, n)) {
		s.found.Fields.Insert(slices.Clone(s.where))
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

// isAddedTo reports whether others have added to a map that is one value, and that scope Declared leaves as it is.
func isAddedTo(want, have any, n *node) bool {
	_, isMap := want.(map[string]any)
	return isMap && n.isWhole() && !n.hasDefaults() && !deepEqual(want, have)
}

// isOneValue reports whether managed fields name a value that an apply sends, and not its parts. Of a map or a list of
// which nothing is known they may.
func isOneValue(v any, n *node) bool {
	switch x := v.(type) {
	case map[string]any:
		return len(x) == 0 || n == nil || n.whole || n.exact
	case []any:
		return len(x) == 0 || n == nil || n.list == atomicList
	}
	return true
}

// Unlike returns what of the ownership of a live object is not as the server-side apply of a request by Helm's manager
// leaves it. The share of another tool that is built on Helm stays: releases change hands between tools.
func (o Owner) Unlike(r Request, managedFields []metav1.ManagedFieldsEntry, live map[string]any) []Change {
	applied := func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == o.Manager && e.Operation == metav1.ManagedFieldsOperationApply
	}
	if !slices.ContainsFunc(managedFields, applied) {
		return []Change{{Path: Pointer("metadata", "managedFields"), Op: Shared}}
	}
	foreign := slices.DeleteFunc(slices.Clone(managedFields), func(e metav1.ManagedFieldsEntry) bool {
		return likeHelm(&e)
	})
	return r.Shares(foreign, live, o.Manager).Changes
}
