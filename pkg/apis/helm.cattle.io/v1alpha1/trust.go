package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TrustStatus is the trust in the record of the locked revision.
type TrustStatus struct {
	// State is `Trusted` for a record that is enforced, `NotTrusted` for one that is only compared, and `Comparing` for
	// one whose objects are still read. `Any`: the operator enforces records of any writer. `Account`: the account of
	// the release limits what is enforced.
	// +required
	State TrustState `json:"state"`

	// Revision is the number of the revision.
	// +optional
	Revision int `json:"revision,omitempty"`

	// Reason is `Witnessed` for a record whose writer has the rights for it, `AsDeclared` for one whose objects were as
	// it declares, `Accepted` for one in spec.acceptedRecord, `Refused` for one whose writer lacks a right, and
	// `Unwitnessed` for any other.
	// +optional
	Reason TrustReason `json:"reason,omitempty"`

	// Message explains `NotTrusted`. It is empty for the other states.
	// +optional
	Message string `json:"message,omitempty"`

	// Writer is the user who stored the record, if the operator witnessed that. It is cut off at 253 bytes.
	// +optional
	Writer string `json:"writer,omitempty"`

	// Time is the time of the decision.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
}

// TrustState is the trust in a record.
type TrustState string

const (
	// TrustStateAny means that the operator enforces records of any writer.
	TrustStateAny TrustState = "Any"

	// TrustStateAccount means that the account of the release limits what is enforced.
	TrustStateAccount TrustState = "Account"

	// TrustStateComparing means that the record is compared with its objects before it is trusted.
	TrustStateComparing TrustState = "Comparing"

	// TrustStateTrusted means that the record is enforced.
	TrustStateTrusted TrustState = "Trusted"

	// TrustStateNotTrusted means that the record is only compared.
	TrustStateNotTrusted TrustState = "NotTrusted"
)

// TrustReason is the reason of the trust in a record, or of its absence.
type TrustReason string

const (
	// TrustWitnessed means that the writer of the record may do what it declares.
	TrustWitnessed TrustReason = "Witnessed"

	// TrustAsDeclared means that the objects were as the record declares.
	TrustAsDeclared TrustReason = "AsDeclared"

	// TrustAccepted means that spec.acceptedRecord accepts the record.
	TrustAccepted TrustReason = "Accepted"

	// TrustRefused means that the writer of the record lacks a right.
	TrustRefused TrustReason = "Refused"

	// TrustUnwitnessed means that the operator does not know what the writer of the record may do.
	TrustUnwitnessed TrustReason = "Unwitnessed"
)
