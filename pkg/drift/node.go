package drift

type listKind uint8

const (
	atomicList listKind = iota
	setList             // primitives, order does not matter
	keyedList           // maps, merged by key
)

// node describes one field. A nil node is a field without a description.
type node struct {
	object   *object // of a struct
	elem     *node   // of the elements of a list or the values of a map
	list     listKind
	keys     []mergeKey // of a keyedList
	unique   []string   // of a keyedList: fields whose value also identifies an element
	ordered  bool       // of a keyedList: the order of the declared elements matters
	siblings bool       // of a keyedList: elements that share the first key are in order; a merge knows no other
	lastOne  bool       // of a keyedList: of several elements with one key only the last counts
	edited   bool       // of a setList: an undeclared element at the place of a missing one is that one, edited
	merged   bool       // of an atomicList: a server-side apply merges it all the same
	byValue  bool       // the Go field cannot tell absent from zero
	exact    bool       // of a map: it has exactly the declared keys, and what the server defaults
	whole    bool       // of a map of a built-in kind: it has one owner as a whole
	// oneWriter is set for a map to which others may add, until they change a declared key of it: see isSelectorField.
	oneWriter bool
}

type mergeKey struct {
	field    string
	fallback any  // what the server puts where the field is missing, or nil
	byValue  bool // of a built-in kind: an empty text is the same as none
}

// of returns the key of a list element, which is the fallback where the element has none.
func (k *mergeKey) of(element map[string]any) any {
	if v := element[k.field]; v != nil && (v != "" || !k.byValue) {
		return v
	}
	return k.fallback
}

// object describes a Go struct. Recursive types share one.
type object struct {
	fields   map[string]*node
	unions   []union
	defaults map[string]any // of an exact map: what the server puts where a field is missing
}

// union is a set of exclusive fields: at most one may be set. With a discriminator, a change of that field makes the
// members wrong too.
type union struct {
	members       []string
	discriminator string
}

// field returns the description of a field of a struct, or of a value of a map.
func (n *node) field(name string) *node {
	switch {
	case n == nil:
		return nil
	case n.object != nil:
		return n.object.fields[name]
	default:
		return n.elem
	}
}

// element returns the description of the elements of a list.
func (n *node) element() *node {
	if n == nil {
		return nil
	}
	return n.elem
}

// isWhole reports whether the field is a map of a built-in kind with one owner as a whole.
func (n *node) isWhole() bool { return n != nil && n.whole }

// isOneValue reports whether an apply replaces the map, also that of a custom resource, as a whole.
func (n *node) isOneValue() bool { return n != nil && (n.whole || n.exact) }

// hasDefaults reports whether the API server may set defaults in a map with one owner. Undeclared keys of a selector
// are always additions of others.
func (n *node) hasDefaults() bool { return n.object != nil && n.object.fields["matchLabels"] == nil }

// isMap reports whether a field of a built-in kind is a map with keys that users choose.
func (n *node) isMap() bool {
	return n != nil && n.object == nil && n.elem != nil && n.list == atomicList
}
