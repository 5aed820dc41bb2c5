package v1alpha1

// Guard is how the API server treats a change of a locked object before it happens.
// +kubebuilder:validation:Enum=Off;Observe;Warn;Deny
type Guard string

const (
	// GuardOff lets every change through. It is reverted afterwards.
	GuardOff Guard = "Off"

	// GuardObserve lets every change through, and names its user when it is reverted.
	GuardObserve Guard = "Observe"

	// GuardWarn lets a change through with a warning of its coming revert.
	GuardWarn Guard = "Warn"

	// GuardDeny refuses a change.
	GuardDeny Guard = "Deny"
)

// The rule below writes namespace as __namespace__, because the word is reserved in CEL up to Kubernetes 1.30.

// GuardSubject names a user, a group or a ServiceAccount.
// +kubebuilder:validation:XValidation:rule="self.kind == 'ServiceAccount' ? has(self.__namespace__) : !has(self.__namespace__)",message="a ServiceAccount has a namespace, a User and a Group have none"
type GuardSubject struct {
	// Kind is `User`, `Group` or `ServiceAccount`, as in a RoleBinding.
	//
	// +required
	Kind GuardSubjectKind `json:"kind"`

	// Name of the user, group or ServiceAccount.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// Namespace of a ServiceAccount.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// GuardSubjectKind is the kind of a GuardSubject.
// +kubebuilder:validation:Enum=User;Group;ServiceAccount
type GuardSubjectKind string

const (
	// GuardSubjectUser names a user, as the API server knows them.
	GuardSubjectUser GuardSubjectKind = "User"

	// GuardSubjectGroup names a group of users.
	GuardSubjectGroup GuardSubjectKind = "Group"

	// GuardSubjectServiceAccount names a ServiceAccount.
	GuardSubjectServiceAccount GuardSubjectKind = "ServiceAccount"
)

// IsOn reports whether the API server asks about changes.
func (g Guard) IsOn() bool { return g != "" && g != GuardOff }
