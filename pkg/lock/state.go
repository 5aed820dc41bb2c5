package lock

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unique"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/manifest"
)

// state is the state of one locked object. Lock.mu guards it. Every locked object has one, so rarely used fields are
// behind a pointer.
type state struct {
	*Object

	good     uint64 // digest of the content last judged to be without drift
	version  uint64 // newest resource version seen
	baseline drift.Baseline
	owner    unique.Handle[drift.Owner] // Helm's field manager on the object; zero until it was seen

	pending *Observation // newest look not judged yet
	problem *Problem     // why the object is not as desired, if it is not
	backoff *backoff     // nil for an object that never had to be restored

	judged   bool // whether good holds a digest
	existed  bool // it was seen under this lock, or a request to delete it
	inFlight bool // a worker holds the object
	retry    bool // a failure of that worker is no reason to wait, see Retry
	rewound  bool // versions that the worker knows are of before Rewind
	reported bool // good is drifted content that was only reported (mode Detect)

	excused   bool  // managed fields alone say that a part of baseline is normal
	additions bool  // others added something that is left alone
	scaled    bool  // whether replicas holds a number
	replicas  int32 // the last number within the range of an autoscaler
}

// backoff is the state of the recent attempts to restore an object.
type backoff struct {
	budget    budget
	failures  int       // failed attempts in a row
	notBefore time.Time // no further attempt before; zero when none failed
	refusal   *Refusal  // of the last attempt; nil for none
}

// Refusal is the refused part of a revert, as long as the content of the object stays the same.
type Refusal struct {
	// Content is the digest of the object when the fields were found out.
	Content uint64
	// Changes are the refused ones, seen at Seen first.
	Changes []drift.Change
	Seen    time.Time
}

// retries reports whether the pending observation is another attempt to restore refused changes.
func (s *state) retries() bool { return s.refusal() != nil && !s.backoff.notBefore.IsZero() }

// refused reports whether the API server refuses to restore something of the object with this content.
func (s *state) refused(content uint64) bool {
	return s.refusal() != nil && s.refusal().Content == content
}

func (s *state) refusal() *Refusal {
	if s.backoff == nil {
		return nil
	}
	return s.backoff.refusal
}

// Back-off between attempts to restore one object. After a refusal of the API server, another one is likely. After an
// attempt without an answer, a retry is worthwhile as soon as the API server answers.
const (
	retryMin          = 250 * time.Millisecond
	retryMaxTransient = 2 * time.Second
	retryMaxRefused   = time.Minute
)

func (s *state) fail(now time.Time, transient bool) {
	e := s.newBackoff()
	longest := retryMaxRefused
	if transient {
		longest = retryMaxTransient
	}
	e.notBefore = now.Add(min(retryMin<<min(e.failures, 8), longest))
	e.failures++
}

// newBackoff returns the back-off state, and creates it if necessary.
func (s *state) newBackoff() *backoff {
	if s.backoff == nil {
		s.backoff = &backoff{}
	}
	return s.backoff
}

func (s *state) wait(now time.Time) time.Duration {
	e := s.backoff
	if e == nil {
		return 0
	}
	left := e.notBefore.Sub(now)
	if left > max(retryMaxRefused, retryMaxTransient) { // no wait is that long: the clock was set back
		left, e.notBefore = 0, time.Time{}
	}
	return max(e.budget.Wait(now), left, 0)
}

// endWait ends the wait after a refusal if an observation is of other content.
func (s *state) endWait(o *Observation) {
	if s.refusal() != nil && !s.refused(o.Digest) {
		s.backoff.notBefore = time.Time{}
	}
}

// failures returns the number of consecutive failures.
func (s *state) failures() int {
	if s.backoff == nil {
		return 0
	}
	return s.backoff.failures
}

// succeed ends a row of failures.
func (s *state) succeed() {
	if s.backoff != nil {
		s.backoff.failures, s.backoff.notBefore, s.backoff.refusal = 0, time.Time{}, nil
	}
}

// forgetBackoff drops an expired back-off state.
func (s *state) forgetBackoff(now time.Time) {
	if s.backoff == nil {
		return
	}
	s.backoff.budget.Reset(now)
	if s.backoff.failures == 0 && s.backoff.budget.spent(now) {
		s.backoff = nil
	}
}

// contended reports whether the object is fought over.
func (s *state) contended() bool { return s.backoff != nil && s.backoff.budget.Contended() }

// helm returns Helm's field manager on the object, the zero Owner if it was not seen yet.
func (s *state) helm() drift.Owner {
	if s.owner == (unique.Handle[drift.Owner]{}) {
		return drift.Owner{}
	}
	return s.owner.Value()
}

// chosen returns the last number of replicas chosen by an autoscaler; nil when none was seen.
func (s *state) chosen() *int64 {
	if !s.scaled {
		return nil
	}
	n := int64(s.replicas)
	return &n
}

// states are those of the objects of a lock, ordered by identity. A map would take twelve times the memory of a
// slice, and be hardly faster: identities are long.
type states []*state

func newStates(objects []*Object) states {
	all := make(states, len(objects))
	for i, o := range objects {
		all[i] = &state{Object: o}
	}
	slices.SortFunc(all, func(a, b *state) int { return compare(a.ID, b.ID) })
	return all
}

// of returns the state of an object, nil for none.
func (all states) of(id manifest.ID) *state {
	i, found := slices.BinarySearchFunc(all, id, func(s *state, id manifest.ID) int { return compare(s.ID, id) })
	if !found {
		return nil
	}
	return all[i]
}

// compare orders identities, beginning with the parts that differ most within a release.
func compare(a, b manifest.ID) int {
	return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Kind, b.Kind),
		strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Group, b.Group))
}

// isStale reports whether an observation with that version is older than a recorded one. Zero is unknown, and never
// stale.
func (s *state) isStale(version uint64) bool { return version != 0 && version <= s.version }

// unjudged reports whether the object has neither a judgement nor a problem that prevents one.
func (s *state) unjudged() bool { return !s.judged && s.problem == nil }

// isJudged reports whether content with that digest was judged, and no worker is about to change it.
func (s *state) isJudged(digest uint64) bool { return s.judged && digest == s.good && !s.inFlight }
