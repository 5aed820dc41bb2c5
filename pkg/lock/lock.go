package lock

import (
	"sync"
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/rules"
)

// Lock is the memory of one locked release: its record, its objects, and the objects to judge. It is safe for
// concurrent use.
type Lock struct {
	// Key is the "namespace/name" of the HelmRelease. Since and Key order the claims of two HelmReleases.
	Key     string
	Since   time.Time
	Release release.Key
	// Began is the beginning of the lock at this record: before New, if an earlier process locked it already.
	Began time.Time
	// As is the release in the objects' metadata. It differs from Release when the record is stored in another
	// namespace than the objects. New sets it to Release where it is empty.
	As release.Key
	// Record is the newest record of the release at the time of the lock. Reverts require that it still is the newest.
	Record release.Record
	// ServerSide is set when Helm applied the release by server-side apply.
	ServerSide bool
	// Writer is Helm's field manager of the release by its earlier lock or its record; empty when unknown.
	Writer string
	// Detect is set when drift is reported and not reverted.
	Detect bool
	// Resumes is the end of a pause in whose last minute this lock is, with Detect; zero for none.
	Resumes time.Time
	// Doubt is why the record is not trusted; empty when it may be enforced. Detect, and the Digest of the record, are
	// set with it.
	Doubt, Digest string
	// TrustChanges are the changes of the trust when the record was doubted; -1 if Helm worked on an earlier revision.
	TrustChanges int64
	// Trust is the trust in the record, for the status.
	Trust *v1alpha1.TrustStatus
	// Fresh is set when the revision became deployed under the operator's eyes: Helm may have left less than it
	// declares.
	Fresh bool
	// Strict is set when the additions of others are removed, too.
	Strict bool
	// ReplaceImmutable is set when the lock may delete and re-create an object to revert an immutable field.
	ReplaceImmutable bool
	// Spec is the spec of the HelmRelease without suspension.
	Spec v1alpha1.HelmReleaseSpec
	// Account is the user to impersonate for writes; empty for the operator itself.
	Account string
	// Ignore are the compiled rules of Spec; nil for none.
	Ignore *rules.Rules
	// Exceptions are the objects and fields that the manifest and the spec leave to others.
	Exceptions []v1alpha1.Exception
	// Untracked are declared objects that this lock does not own: exempt ones, and those of kinds that are not served.
	// An object of a kind that is not served appears under each identity it may have.
	Untracked map[manifest.ID]struct{}
	// Unknown is set when the manifest declares objects of kinds that are not served.
	Unknown bool

	Hooks release.Hooks

	// Unmanaged are the objects with a claim on the release outside of its manifest. Requests are the recent requests
	// about its objects.
	Unmanaged Unmanaged
	Requests  Requests

	mu        sync.Mutex
	objects   states
	dirty     map[*state]struct{}      // to be judged
	taken     map[manifest.ID]struct{} // declared, and owned by another lock
	complete  bool                     // as Complete said once
	unsettled bool                     // a baseline has changed since Settled was called
	storm     bucket                   // of the reverts that are answered
	closed    bool
}

// New returns a lock with the given objects. All have different identities, and none is judged yet.
func New(l *Lock, objects []*Object) *Lock {
	if l.As == (release.Key{}) {
		l.As = l.Release
	}
	l.objects = newStates(objects)
	l.dirty = map[*state]struct{}{}
	return l
}

// Work is one object of a lock in the hands of a worker, which must return it with Done.
type Work struct {
	*Object
	Observation
	// First is set when the object has not been judged under this lock before.
	First bool
	// Existed is set when the object was seen under this lock before, or a request to delete it.
	Existed  bool
	Baseline drift.Baseline
	Owner    drift.Owner
	Excused  bool
	// Failures counts the consecutive failed attempts. Refusal is that of the last one; nil for none.
	Failures int
	Refusal  *Refusal
	// Before is the existing problem of the object; nil for none.
	Before *Problem
	// Chosen is the last observed number of replicas within the range of an autoscaler; nil for none.
	Chosen *int64
}

// Close ends the lock: it no longer gives work out or records results.
func (l *Lock) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
}

// Closed reports whether the lock has ended.
func (l *Lock) Closed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}
