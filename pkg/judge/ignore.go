package judge

import (
	"github.com/rancher/helm-locker/pkg/drift"
)

// Ignore returns a function for the ignored paths: those of the rules, the number of replicas of an autoscaler, the
// annotations of Kubernetes' controllers, and finalizers that must stay; nil for none.
func (in *Input) Ignore(desired map[string]any) func(path []string) bool {
	var ownership *drift.Ownership
	if in.Rules.NeedsOwnership() {
		ownership = drift.NewOwnership(in.managedFieldsOf(in.Live), desired, in.Live.Object)
	}
	ignored := in.Rules.Bind(ownership)
	if in.keepsFinalizers() {
		ignored = also(ignored, isFinalizer)
	}
	if names := ofControllers(in.ID, desired); len(names) > 0 {
		ignored = also(ignored, annotated(names))
	}
	if scaling := in.scaling(); scaling.isLeft() {
		ignored = also(ignored, scaling.isAt)
	}
	if len(in.Left) > 0 {
		ignored = also(ignored, in.left)
	}
	return ignored
}

// also returns a function that ignores the paths of either function; a may be nil.
func also(a, b func(path []string) bool) func(path []string) bool {
	if a == nil {
		return b
	}
	return func(path []string) bool { return a(path) || b(path) }
}

func (in *Input) adopted() func(ref map[string]any) bool {
	if in.owners != nil {
		return in.owners
	}
	return Adopted(in.ID)
}
