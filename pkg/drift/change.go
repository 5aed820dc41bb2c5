package drift

// Operation classifies the departure of a live object at a path.
type Operation string

const (
	// Modified means that a declared value exists and differs. For lists: its elements or their order differ.
	Modified Operation = "Modified"
	// Removed means that a declared key or list element is missing.
	Removed Operation = "Removed"
	// Added means that an undeclared value has to be removed. It took the place of a declared one: a list element with
	// an edited merge key, an environment variable that overrides a declared one of the same name, a field that
	// excludes a declared one, a key of an atomic map. Or the scope is Strict and another manager added it.
	Added Operation = "Added"
	// Shared means that the value is as declared, and another manager owns the field, alone or beside Helm's: see
	// Request.Shares. Compare never returns it.
	Shared Operation = "Shared"
)

// Change is one departure from the desired state. It never holds a value.
type Change struct {
	// Path is an RFC 6901 pointer. List indexes are those of the desired list. The last segment of the path of an Added
	// list element is the index in the live list instead.
	Path string
	// Op is the departure at Path.
	Op Operation
}

// Segments returns the keys and indexes of the path, unescaped.
func (c Change) Segments() []string { return parsePointer(c.Path) }

// Result is the result of Compare.
type Result struct {
	// Changes are sorted by path. They are empty without drift.
	Changes []Change
	// Target is the live object with every change reverted, or nil without changes. It shares the unchanged
	// parts with the live object, so treat it as read-only, or copy it first.
	Target map[string]any
	// RemovesForeign is set when Target lacks additions of others to the live object: an element of a merged list, an
	// exclusive field, an addition. A three-way merge or a server-side apply would not remove them. It is also set
	// after the change of a list that the API server may or may not merge.
	RemovesForeign bool
	// Unproven is set when Target lacks an injected list element for a webhook to inject again: see injected.go. A dry
	// run must confirm that a webhook does so.
	Unproven bool
}
