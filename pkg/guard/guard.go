// Package guard has the API server ask, before it changes or deletes an object, whether that may happen. It serves the
// webhook, keeps its certificate and keeps it registered; what the answer is, others decide.
//
// Everything fails open: whatever the guard cannot do in time, the API server does without it.
package guard

import (
	"context"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Decision is the answer to one request. The zero value lets it pass without a word.
type Decision struct {
	// Denied is set for a request that is refused.
	Denied bool
	// Message is for who sent the request: why it was refused, or else a warning; empty for none.
	Message string
}

// Decide decides on one request to change or delete an object. It must answer within ctx.
type Decide func(ctx context.Context, r *admissionv1.AdmissionRequest) Decision

// Resource is a resource of which guarded releases have objects.
type Resource struct {
	schema.GroupVersionResource
	Namespaced bool
	// Scale is set when the subresource scale changes what a manifest declares.
	Scale bool
}

// Wanted is what the API server is to ask about. It is nothing without Resources.
type Wanted struct {
	Resources []Resource
	// Namespaces are those of the objects. Objects without a namespace are not limited by them, but for Namespaces,
	// which the API server matches against their own labels.
	Namespaces []string
}

// Covers reports whether all of other is wanted, too.
func (w *Wanted) Covers(other *Wanted) bool {
	for _, r := range other.Resources {
		if !slices.ContainsFunc(w.Resources, func(have Resource) bool {
			return have.GroupVersionResource == r.GroupVersionResource && (have.Scale || !r.Scale)
		}) {
			return false
		}
	}
	return !slices.ContainsFunc(
		other.Namespaces,
		func(name string) bool { return !slices.Contains(w.Namespaces, name) },
	)
}

// State says what the API server asks the guard about, and why about nothing.
type State struct {
	// Asked is what it asks about.
	Asked Wanted
	// Reason and Message are those of the condition Guarded while nothing is asked; empty otherwise.
	Reason, Message string
}
