package v1alpha1

// Reasons for which a single object is not, or not yet, as the manifest declares it. The message of Ready names the
// object together with the reason. RevertFailed, Conflict and Forbidden apply to single objects too.
const (
	// ReasonBeingDeleted: the deletion of the object or of its namespace is pending. That is drift; the content of
	// the object stays protected, and it is created again when it is gone.
	ReasonBeingDeleted = "BeingDeleted"

	// ReasonNotRecreated: the object is gone and is not created again: a Job or Pod that has run, or may have run, must
	// not run again, and a rule of spec.ignore leaves the deletion alone.
	ReasonNotRecreated = "NotRecreated"

	// ReasonWatchFailed: a kind cannot be watched now; the message names it. When a permission is missing the
	// reason is Forbidden.
	ReasonWatchFailed = "WatchFailed"
)
