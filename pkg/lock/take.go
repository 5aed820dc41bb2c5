package lock

import (
	"time"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/manifest"
)

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
	s.endWait(&o)
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
