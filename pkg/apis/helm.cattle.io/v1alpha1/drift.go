package v1alpha1

import (
	"cmp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// DriftRecord is a change of an object by one field manager other than Helm, and the operator's reaction. Changes by
// several managers, reverted at once, have a record for each, with the same time. A record names fields and never
// carries their values.
type DriftRecord struct {
	// Time is when the change was seen.
	// +required
	Time metav1.MicroTime `json:"time"`

	// Object is the changed object.
	// +required
	Object DriftedObject `json:"object"`

	// Operation is the kind of change: `Modified`, `Removed`, `Added`, `Deleted`, `Missing` or `Leftover`.
	// +required
	Operation DriftOperation `json:"operation"`

	// Paths are the changed fields as JSON pointers (RFC 6901), for example `/spec/replicas`: the first 10. A deleted
	// object has none.
	// +optional
	// +listType=atomic
	Paths []string `json:"paths,omitempty"`

	// MorePaths is the number of changed fields missing from paths.
	// +optional
	MorePaths int `json:"morePaths,omitempty"`

	// FieldManager is the author of the change in the object's managedFields, for example `kubectl-edit`. It is empty
	// when unknown, as for a deleted object, or for a removed field when several managers wrote.
	// +optional
	FieldManager string `json:"fieldManager,omitempty"`

	// FieldManagerOperation is how that manager wrote, `Update` or `Apply`, as managedFields has it.
	// +optional
	FieldManagerOperation string `json:"fieldManagerOperation,omitempty"`

	// Subresource is the subresource of that manager's write, for example `scale`; it is empty for the object itself.
	// +optional
	Subresource string `json:"subresource,omitempty"`

	// User is the sender of the request, as the API server knows them, with the Pod of a ServiceAccount's token. It is
	// known for a refused request, and for a change if the guard was asked about one request that fits it.
	// +optional
	User string `json:"user,omitempty"`

	// UserGroups are the groups of that user, as the API server knows them: the first 5, without `system:authenticated`
	// and those of all ServiceAccounts.
	// +optional
	// +listType=atomic
	UserGroups []string `json:"userGroups,omitempty"`

	// PossibleUsers are the senders of the requests that fit the change when there are several: the first 4.
	// +optional
	// +listType=atomic
	PossibleUsers []string `json:"possibleUsers,omitempty"`

	// Count is the number of such requests of that user since the first one still listed; Time is that of the last one.
	// It is absent for everything else.
	// +optional
	Count int `json:"count,omitempty"`

	// ChangeTime is when that manager last wrote, in whole seconds, as managedFields has it. Time is when it was
	// noticed.
	// +optional
	ChangeTime *metav1.Time `json:"changeTime,omitempty"`

	// Action is the reaction: `Reverted`, `Recreated`, `Replaced`, `Pruned`, `Reported`, `Refused` or `Denied`.
	// +required
	Action DriftAction `json:"action"`

	// Duration is how long the change lived, from the moment in since to the restoration, for example `12.5ms`. It is
	// absent when nothing was restored.
	// +optional
	Duration *metav1.Duration `json:"duration,omitempty"`

	// Since is the start of duration: `Observed`, `Changed` or `Locked`. It is absent when duration is.
	// +optional
	Since DriftSince `json:"since,omitempty"`
}

// Sender names the user of the change, or the possible ones, as in "alice or bob"; empty when unknown.
func (r *DriftRecord) Sender() string { return cmp.Or(r.User, strings.Join(r.PossibleUsers, " or ")) }

// DriftedObject identifies an object. It has no API version: an object is the same one in every version of its kind.
type DriftedObject struct {
	// Group is the API group; the core group is the empty string.
	// +optional
	Group string `json:"group,omitempty"`

	// Kind is the object's kind, for example `Deployment`.
	// +required
	Kind string `json:"kind"`

	// Namespace is empty for a cluster-scoped object.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Name is the object's name.
	// +required
	Name string `json:"name"`
}

// String returns the object in a form for people, for example "Deployment.apps web/podinfo", "Service web/podinfo" or,
// cluster-scoped, "ClusterRole.rbac.authorization.k8s.io podinfo".
func (o DriftedObject) String() string {
	kind := schema.GroupKind{Group: o.Group, Kind: o.Kind}.String()
	if o.Namespace == "" {
		return kind + " " + o.Name
	}
	return kind + " " + o.Namespace + "/" + o.Name
}

// DriftOperation is the kind of a change.
type DriftOperation string

const (
	// DriftModified means that declared fields have other values.
	DriftModified DriftOperation = "Modified"

	// DriftRemoved means that declared fields (or labels and annotations of Helm) are gone, and none has another value.
	DriftRemoved DriftOperation = "Removed"

	// DriftAdded means that another writer than Helm added fields (scope Strict), and no declared field was changed.
	DriftAdded DriftOperation = "Added"

	// DriftDeleted means that the whole object was deleted.
	DriftDeleted DriftOperation = "Deleted"

	// DriftMissing means that the object has not existed since the lock began; it may never have existed.
	DriftMissing DriftOperation = "Missing"

	// DriftLeftover means that the object belongs to an earlier revision, and Helm failed to delete it.
	DriftLeftover DriftOperation = "Leftover"
)

// DriftSince is the moment from which the life of a change is counted.
type DriftSince string

const (
	// DriftSinceObserved means the watch event that brought the change. The operator saw it happen, so this is exact to
	// the millisecond.
	DriftSinceObserved DriftSince = "Observed"

	// DriftSinceChanged means changeTime, because the operator did not see the change happen: it was down, or its watch
	// was interrupted. This has whole seconds.
	DriftSinceChanged DriftSince = "Changed"

	// DriftSinceLocked means the beginning of the lock: the change is older, or it is not known when it was made.
	DriftSinceLocked DriftSince = "Locked"
)

// DriftAction is what was done about a change.
type DriftAction string

const (
	// DriftActionReverted means that the object was written back as the manifest declares it.
	DriftActionReverted DriftAction = "Reverted"

	// DriftActionRecreated means that the object was created again.
	DriftActionRecreated DriftAction = "Recreated"

	// DriftActionReplaced means that the object was deleted and created again, because the changed fields are immutable
	// and spec.replaceImmutable allows it.
	DriftActionReplaced DriftAction = "Replaced"

	// DriftActionPruned means that an object left behind by Helm's failed deletion was deleted.
	DriftActionPruned DriftAction = "Pruned"

	// DriftActionReported means that nothing was written, because spec.mode is Detect.
	DriftActionReported DriftAction = "Reported"

	// DriftActionRefused means that the API server refused the write: by validation, admission or RBAC. It is tried
	// again.
	DriftActionRefused DriftAction = "Refused"

	// DriftActionDenied means that the change never happened: the guard refused the request.
	DriftActionDenied DriftAction = "Denied"
)
