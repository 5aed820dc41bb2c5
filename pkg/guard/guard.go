// Package guard implements the validating webhook that admits or denies changes and deletions of objects. It serves the
// webhook, renews its certificate and keeps it registered. Its caller decides about each request.
//
// The guard fails open: a request that it does not answer in time passes.
package guard

import (
	"context"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Decision is the answer to one request. The zero value allows it without a message.
type Decision struct {
	Denied bool
	// Message is for the sender of the request: the reason for a denial, or else a warning; empty for none.
	Message string
}

// Decide decides on one request to change or delete an object. It must answer within ctx.
type Decide func(ctx context.Context, r *admissionv1.AdmissionRequest) Decision

// Resource is a resource with objects of guarded releases.
type Resource struct {
	schema.GroupVersionResource
	Namespaced bool
	// Scale is set when the subresource scale changes a declared field.
	Scale bool
}

// Wanted describes the requests to send to the guard. Without Resources there are none.
type Wanted struct {
	Resources []Resource
	// Namespaces are those of the objects. They do not limit objects without a namespace, except for Namespaces: the
	// API server matches a Namespace against its own labels.
	Namespaces []string
	// Denies is set when one of the guarded releases denies changes.
	Denies bool
	// Records are the resources with release records to witness.
	Records []string
}

// Covers reports whether w includes all of other.
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

// State describes the requests that reach the guard, and the reason if none do.
type State struct {
	// Asked describes the requests that the API server sends to the guard.
	Asked Wanted
	// Reason and Message are those of the condition Guarded while no requests arrive; empty otherwise.
	Reason, Message string
}

// timeoutSeconds is how long the API server waits for an answer.
const timeoutSeconds = 2
