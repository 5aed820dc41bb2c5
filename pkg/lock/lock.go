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

// Observe records an observation of an object and reports whether to wake a worker. A stale observation changes
// nothing. Good content ends a drift before a worker takes it.
func (l *Lock) Observe(id manifest.ID, o Observation) (wake bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.objects.of(id)
	if s == nil || l.closed {
		return false
	}
	if s.isStale(o.Version) {
		return false
	}
	s.version = max(s.version, o.Version)
	s.existed = s.existed || o.Digest != 0 || o.Last != nil
	if o.Live != nil && s.isJudged(o.Digest) {
		l.endDrift(s)
		return false
	}
	if s.pending != nil && !s.pending.Seen.IsZero() && !s.retries() {
		o.Seen = s.pending.Seen
	}
	if s.refusal() != nil && (o.Live == nil || !s.refused(o.Digest)) {
		s.backoff.notBefore = time.Time{} // the refusal was of other content
	}
	sameAgain := l.waits(s) && o.Live != nil && s.pending.Live != nil && o.Digest == s.pending.Digest
	s.pending = &o
	if s.inFlight {
		return false
	}
	if sameAgain {
		return false
	}
	l.dirty[s] = struct{}{}
	return true
}

// Recheck makes workers read the matching objects again (all for a nil match), and reports whether to wake one. It
// skips objects with an observation to judge, unless they wait (Outcome.Waits): those observations are outdated.
func (l *Lock) Recheck(now time.Time, match func(*Object) bool) (wake bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	for _, s := range l.objects {
		if match != nil && !match(s.Object) {
			continue
		}
		look := &Observation{NeedsGet: true, Seen: now}
		if s.pending != nil {
			if !l.waits(s) {
				continue
			}
			look.Seen, look.Last = s.pending.Seen, s.pending.Last
		}
		s.pending = look
		if !s.inFlight {
			l.dirty[s] = struct{}{}
			wake = true
		}
	}
	return wake
}

// Reconsider makes workers judge objects again after a change of something else that their last judgement depended on.
// An object that waits (Outcome.Waits) is judged by its last observation, any other one is read again. It reports
// whether to wake a worker.
func (l *Lock) Reconsider(now time.Time, ids map[manifest.ID]struct{}) (wake bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	for id := range ids {
		s := l.objects.of(id)
		if s == nil {
			continue
		}
		if s.pending == nil {
			s.pending = &Observation{NeedsGet: true, Seen: now}
		}
		if !s.inFlight {
			l.dirty[s] = struct{}{}
			wake = true
		}
	}
	return wake
}

// Retry ends the wait after a failed attempt for the matching objects: the cause of the failure is over. An attempt in
// flight may have begun before that, so the next one follows its failure at once. It reports whether to wake a worker.
func (l *Lock) Retry(match func(*Object) bool) (wake bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	for _, s := range l.objects {
		if s.inFlight && match(s.Object) {
			s.retry = true
		}
	}
	for s := range l.dirty {
		if s.failures() > 0 && match(s.Object) {
			s.succeed()
			wake = true
		}
	}
	return wake
}

// manyDirty is the number of entries from which on an emptied map is replaced.
const manyDirty = 16

// Take returns the objects to judge. Objects in a fight and objects whose last attempt failed stay until their wait is
// over; after is the shortest such wait, zero for none.
func (l *Lock) Take(now time.Time) (work []*Work, after time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, 0
	}
	for s := range l.dirty {
		if wait := s.wait(now); wait > 0 {
			if after == 0 || wait < after {
				after = wait
			}
			if s.problem == nil {
				s.problem = &Problem{Reason: v1alpha1.ReasonDriftDetected,
					Message: "changed again and again; the next revert waits", Drifted: true}
			}
			continue
		}
		delete(l.dirty, s)
		work = append(work, &Work{Object: s.Object, Observation: *s.pending, First: !s.judged, Existed: s.existed,
			Baseline: s.baseline, Owner: s.helm(), Excused: s.excused, Failures: s.failures(), Refusal: s.refusal(),
			Before: s.problem, Chosen: s.chosen()})
		s.pending, s.inFlight = nil, true
	}
	if len(l.dirty) == 0 && len(work) > manyDirty {
		l.dirty = map[*state]struct{}{} // an emptied map keeps the room that it once needed
	}
	return work, after
}

// waits reports whether Outcome.Waits delays an object: it has an observation, and no worker has it or will get it.
// l.mu is held.
func (l *Lock) waits(s *state) bool {
	_, dirty := l.dirty[s]
	return s.pending != nil && !s.inFlight && !dirty
}

// Resume ends the wait of all objects (Outcome.Waits): this replica may revert them now. It reports whether to wake a
// worker.
func (l *Lock) Resume() (wake bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	for _, s := range l.objects {
		if l.waits(s) {
			l.dirty[s] = struct{}{}
			wake = true
		}
	}
	return wake
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
