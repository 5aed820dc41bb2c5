package drift

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// Ownership says which field managers own the fields of a live object. It is parsed at the first question, once, and
// safe for concurrent use. A nil Ownership knows no owner.
type Ownership struct {
	parse         sync.Once
	managedFields []metav1.ManagedFieldsEntry
	desired, live map[string]any

	root *owned
}

// owned is a field with its owners. Its parts are named as in the paths that Options.Ignore gets: keys, and indexes.
type owned struct {
	managers []string
	parts    map[string]*owned
	divided  bool // somebody owns a part of it, which need not be in parts
}

// claim is what one entry of managedFields says about a field: its part of FieldsV1.
type claim struct {
	manager string
	fields  map[string]any
}

// NewOwnership returns the ownership that managedFields, those of live, record. desired and live are as in Compare; all
// three are kept and never changed. Entries of the subresource status do not count, as status is not compared; an entry
// that cannot be read owns nothing.
func NewOwnership(managedFields []metav1.ManagedFieldsEntry, desired, live map[string]any) *Ownership {
	return &Ownership{managedFields: managedFields, desired: desired, live: live}
}

// Owned reports whether a manager that match accepts owns all of the field at path, which is as in Options.Ignore.
// In a list that desired does not have, indexes are those of the live list.
//
// What is owned as a whole (a value, an atomic list or map) owns what is below it. A map or list whose parts have
// owners is not owned itself, only the parts are: whoever added one label does not own all labels. A list element
// is found by its merge key, so one that is missing in the live object, or whose key was edited, has no owner.
//
// It allocates nothing once managedFields are parsed.
func (o *Ownership) Owned(path []string, match func(manager string) bool) bool {
	if o == nil {
		return false
	}
	o.parse.Do(o.build)
	at := o.root
	for _, segment := range path {
		if !at.divided {
			break
		}
		if at = at.parts[segment]; at == nil {
			return false
		}
	}
	return !at.divided && slices.ContainsFunc(at.managers, match)
}

// Applied returns a function that reports whether the owner owns a field of the live object by server-side apply.
// The arguments are as for NewOwnership.
func (o Owner) Applied(
	managedFields []metav1.ManagedFieldsEntry, desired, live map[string]any,
) func(path []string) bool {
	var applied []metav1.ManagedFieldsEntry
	for _, entry := range managedFields {
		if entry.Manager == o.Manager && entry.Operation == metav1.ManagedFieldsOperationApply &&
			entry.Subresource == "" {
			applied = append(applied, entry)
		}
	}
	ownership := NewOwnership(applied, desired, live)
	return func(path []string) bool { return ownership.Owned(path, func(string) bool { return true }) }
}

func (o *Ownership) build() {
	var claims []claim
	for i := range o.managedFields {
		entry := &o.managedFields[i]
		if entry.FieldsV1 == nil || entry.Subresource == "status" {
			continue
		}
		var fields map[string]any
		if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err == nil && len(fields) > 0 {
			claims = append(claims, claim{entry.Manager, fields})
		}
	}
	o.root = divide(claims, o.desired, o.live)
	o.root.managers = nil // an entry without fields owns nothing, rather than all
	o.managedFields, o.desired, o.live = nil, nil, nil
}

// divide returns the field that claims are about. want and have are its desired and live values.
func divide(claims []claim, want, have any) *owned {
	field := &owned{}
	parts := map[string][]claim{}
	for _, c := range claims {
		if _, itself := c.fields["."]; itself || len(c.fields) == 0 {
			field.managers = append(field.managers, c.manager)
		}
		for name, below := range c.fields {
			if fields, ok := below.(map[string]any); ok && name != "." {
				parts[name] = append(parts[name], claim{c.manager, fields})
			}
		}
	}
	if len(parts) == 0 {
		return field
	}
	field.divided, field.parts = true, make(map[string]*owned, len(parts))
	wantMap, _ := want.(map[string]any)
	haveMap, _ := have.(map[string]any)
	elements := map[string][]claim{}
	for name, claims := range parts {
		if key, ok := strings.CutPrefix(name, "f:"); ok {
			field.parts[key] = divide(claims, wantMap[key], haveMap[key])
		} else {
			elements[name] = claims
		}
	}
	haveList, _ := have.([]any)
	if wantList, ok := want.([]any); ok {
		field.divideList(elements, wantList, haveList)
	} else {
		field.divideList(elements, haveList, haveList)
	}
	return field
}

// divideList finds the element of want that each name means, and divides that.
func (field *owned) divideList(elements map[string][]claim, want, have []any) {
	if len(elements) == 0 {
		return
	}
	byKey := keysOf(elements)
	values := map[string][]claim{}
	for name, claims := range elements {
		kind, text, _ := strings.Cut(name, ":")
		switch kind {
		case "i":
			if i, err := strconv.Atoi(text); err == nil && i >= 0 && i < len(want) {
				field.parts[text] = divide(claims, want[i], elementAt(have, i))
			}
		case "v":
			var v any
			if json.Unmarshal([]byte(text), &v) == nil {
				values[string(appendCanonical(nil, v))] = claims
			}
		}
	}
	located := make([]map[string]any, len(byKey)) // by its key, each live element
	for g, group := range byKey {
		located[g] = group.locate(have)
	}
	for i, e := range want {
		var claims []claim
		var counterpart any
		if len(values) > 0 {
			claims = append(claims, values[string(appendCanonical(nil, e))]...)
		}
		for g, group := range byKey {
			if key, ok := group.keyOf(e, elementAt(have, i)); ok {
				claims = append(claims, group.claims[key]...)
				counterpart = located[g][key]
			}
		}
		if len(claims) > 0 {
			field.parts[strconv.Itoa(i)] = divide(claims, e, counterpart)
		}
	}
}

// keyed are the elements of a list that are named by the same key fields.
type keyed struct {
	fields []string
	claims map[string][]claim // by the encoded values of fields
}

// keysOf reads the names that are keys. The groups are sorted by their fields; normally there is one.
func keysOf(elements map[string][]claim) []keyed {
	groups := map[string]keyed{}
	for name, claims := range elements {
		text, ok := strings.CutPrefix(name, "k:")
		var key map[string]any
		if !ok || json.Unmarshal([]byte(text), &key) != nil {
			continue
		}
		fields := slices.Sorted(maps.Keys(key))
		id := string(appendCanonical(nil, fieldsAsList(fields)))
		if _, known := groups[id]; !known {
			groups[id] = keyed{fields: fields, claims: map[string][]claim{}}
		}
		values := make([]any, len(fields))
		for i, f := range fields {
			values[i] = key[f]
		}
		encoded := string(appendCanonical(nil, values))
		groups[id].claims[encoded] = append(groups[id].claims[encoded], claims...)
	}
	var sorted []keyed
	for _, id := range slices.Sorted(maps.Keys(groups)) {
		sorted = append(sorted, groups[id])
	}
	return sorted
}

func fieldsAsList(fields []string) []any {
	list := make([]any, len(fields))
	for i, f := range fields {
		list[i] = f
	}
	return list
}

// keyOf encodes the key of an element. A key field that the element lacks was defaulted by the server: a protocol
// is TCP, and any other is what the live element at the same index has, if that agrees with the rest of the key.
func (k *keyed) keyOf(element, sameIndex any) (string, bool) {
	e, ok := element.(map[string]any)
	if !ok {
		return "", false
	}
	guess, _ := sameIndex.(map[string]any)
	values := make([]any, len(k.fields))
	for i, f := range k.fields {
		v, declared := e[f]
		switch {
		case declared:
		case f == "protocol":
			v = "TCP"
		case guess == nil || guess[f] == nil || !k.agree(e, guess):
			return "", false
		default:
			v = guess[f]
		}
		values[i] = v
	}
	return string(appendCanonical(nil, values)), true
}

// agree reports whether two elements differ in no key field that both have.
func (k *keyed) agree(a, b map[string]any) bool {
	for _, f := range k.fields {
		x, inA := a[f]
		y, inB := b[f]
		if inA && inB && !deepEqual(x, y) {
			return false
		}
	}
	return true
}

// locate returns the elements of a live list by their key.
func (k *keyed) locate(have []any) map[string]any {
	found := make(map[string]any, len(have))
	for _, e := range have {
		if key, ok := k.keyOf(e, e); ok {
			found[key] = e
		}
	}
	return found
}

func elementAt(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}
