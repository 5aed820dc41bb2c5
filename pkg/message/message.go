// Package message has the messages of an operator about drift, changes of locks and fights. The operator's stream of
// events and its readers share it.
package message

import (
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
)

// Type is the type of the CloudEvent.
type Type string

// The types of messages: reverse DNS of the API group, then the event.
const (
	DriftReverted    Type = "io.cattle.helm.drift.reverted"
	DriftRecreated   Type = "io.cattle.helm.drift.recreated"
	DriftReplaced    Type = "io.cattle.helm.drift.replaced"
	DriftPruned      Type = "io.cattle.helm.drift.pruned"
	DriftReported    Type = "io.cattle.helm.drift.reported"
	DriftRefused     Type = "io.cattle.helm.drift.refused"
	DriftDenied      Type = "io.cattle.helm.drift.denied"
	LockChanged      Type = "io.cattle.helm.lock.changed"
	ContentionBegan  Type = "io.cattle.helm.contention.began"
	ContentionEnded  Type = "io.cattle.helm.contention.ended"
	WriterUnexpected Type = "io.cattle.helm.writer.unexpected"
	MessagesWereLost Type = "io.cattle.helm.notifications.lost"
)

// TypeOf returns the type of the message about a drift, by the action of the operator.
func TypeOf(action v1alpha1.DriftAction) Type {
	switch action {
	case v1alpha1.DriftActionReverted:
		return DriftReverted
	case v1alpha1.DriftActionRecreated:
		return DriftRecreated
	case v1alpha1.DriftActionReplaced:
		return DriftReplaced
	case v1alpha1.DriftActionPruned:
		return DriftPruned
	case v1alpha1.DriftActionRefused:
		return DriftRefused
	case v1alpha1.DriftActionDenied:
		return DriftDenied
	}
	return DriftReported
}

// Reference names an object of a known kind.
type Reference struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Message is one event. Its type decides which of Drift, Lock, Contention, Unexpected and Lost is set.
type Message struct {
	Type Type      `json:"-"`
	Time time.Time `json:"-"`

	// HelmRelease and Release are the subject; a message about lost messages has neither.
	HelmRelease *Reference `json:"helmRelease,omitempty"`
	Release     *Reference `json:"release,omitempty"`

	Drift      *v1alpha1.DriftRecord `json:"drift,omitempty"`
	Lock       *Lock                 `json:"lock,omitempty"`
	Contention *Contention           `json:"contention,omitempty"`
	Unexpected *Writer               `json:"unexpectedWriter,omitempty"`
	Lost       *Lost                 `json:"lost,omitempty"`
}

// Lock is the state of a lock after it has changed; its fields are those of the status and of the condition Locked.
type Lock struct {
	Locked   bool           `json:"locked"`
	State    v1alpha1.State `json:"state,omitempty"`
	Revision int            `json:"revision,omitempty"` // the locked one; 0 for none
	Reason   string         `json:"reason"`
	Message  string         `json:"message,omitempty"`
}

// Contention is a fight: another writer keeps changing an object back. Its end has only the message of the condition.
type Contention struct {
	Object       *v1alpha1.DriftedObject `json:"object,omitempty"`
	Paths        []string                `json:"paths,omitempty"`
	MorePaths    int                     `json:"morePaths,omitempty"`
	FieldManager string                  `json:"fieldManager,omitempty"`
	Message      string                  `json:"message,omitempty"`
}

// Writer is the user who stored a revision.
type Writer struct {
	Revision int    `json:"revision"`
	User     string `json:"user"`
}

// Lost counts the missing messages since the last one that the receiver got.
type Lost struct {
	Count int `json:"count"`
	// Unknown is set when there may be more: an operator ended before its last messages were read.
	Unknown bool      `json:"unknown,omitempty"`
	Since   time.Time `json:"since"` // when the first of them was lost
}
