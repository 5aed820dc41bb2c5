package lock

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/rules"
)

// Object is one object of a locked release as Helm left it. It does not change while it is locked.
type Object struct {
	ID         manifest.ID
	GVK        schema.GroupVersionKind
	GVR        schema.GroupVersionResource
	Namespaced bool
	// Desired is the desired state as compact JSON; bytes, because a decoded map takes several times the memory.
	Desired []byte
	// Keep is set for objects with helm.sh/resource-policy: keep.
	Keep bool
	// Replicas is the range within which an autoscaler of the same release may set the replica count; nil for none.
	Replicas *Range
	// Scalable is set when the manifest declares a number of replicas.
	Scalable bool
	// Rules are the ignore rules that the object is a target of; nil for none.
	Rules *rules.Matcher
	// Schema says how lists and maps of the kind are compared.
	Schema drift.Schema
	// Account is the user in whose name the object is written; empty for the operator itself.
	Account string
}

// Observation is one look at a live object.
type Observation struct {
	// Live is the object as the API server returned it; nil when it does not exist or is not known.
	Live *unstructured.Unstructured
	// Last is, for a deleted object, its last known state, if the watch delivered one.
	Last *unstructured.Unstructured
	// Look is set when it is not known whether the object exists: ask the API server before judging.
	Look bool
	// Version is the resource version of the look; zero when unknown.
	Version uint64
	// Digest is the content digest of Live.
	Digest uint64
	// Seen is when the look was taken, or for a repeated look the first one that was not good.
	Seen time.Time
}
