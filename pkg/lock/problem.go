package lock

// Problem explains why an object is not as Helm left it, although it should be.
type Problem struct {
	Reason  string // a condition reason of the API package
	Message string
	Drifted bool // false for an object that only waits (its kind is missing, it is being deleted)
	// Refused is the extent of the API server's refusal to restore the object, by the content of the revert; empty for
	// none. The message names the fields.
	Refused Refused
}

// Refused is the extent of a refusal.
type Refused string

// The extents of a refusal.
const (
	// RefusedFields are fields of an existing object. The rest of it is protected.
	RefusedFields Refused = "Fields"
	// RefusedObject is an object that cannot be created.
	RefusedObject Refused = "Object"
)
