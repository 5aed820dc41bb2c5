package lock

import (
	"maps"
	"time"
	"unique"

	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/manifest"
)

// Outcome is the result of a worker's work on an object.
type Outcome struct {
	// Good is set when the object is as desired; Digest, Version, Baseline, Owner and Excused then describe it.
	Good     bool
	Digest   uint64
	Version  uint64
	Baseline drift.Baseline
	Owner    drift.Owner
	Excused  bool
	// Chosen is the object's number of replicas, if it is within the range of an autoscaler; else nil.
	Chosen *int64
	// Additions is set, with Good or Reported, when the object has additions of others that its lock leaves alone.
	Additions bool
	// Again requests another judgement, of this observation or of a newer one.
	Again *Observation
	// Waits is set with Again to delay the judgement until the content of the object changes, or until Reconsider or
	// Resume.
	Waits bool
	// Reported is set for a problem that stays until the content of the object changes: drift that is only reported
	// (mode Detect), a pending deletion. Content with this digest is not judged again.
	Reported bool
	// Problem is the reason why the object is not as desired.
	Problem *Problem
	// Failed is set when the attempt failed. The wait before the next one grows with every failure.
	Failed bool
	// Refused is, with Failed, the part of the revert that the API server refused.
	Refused *Refusal
	// Transient is set with Failed when the API server did not refuse but did not answer, or Helm was at work.
	Transient bool
	Now       time.Time
}

// Done returns an object to its lock. It reports whether to wake a worker again at once.
func (l *Lock) Done(id manifest.ID, o Outcome) (wake bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.objects.of(id)
	if s == nil || l.closed {
		return false
	}
	if s.problem = o.Problem; o.Failed && !s.retry {
		s.fail(o.Now, o.Transient)
	}
	rewound := s.rewound
	s.inFlight, s.retry, s.rewound = false, false, false
	if o.Good || o.Reported {
		s.judged, s.good, s.reported, s.additions = true, o.Digest, o.Reported, o.Additions
		s.existed = s.existed || o.Digest != 0
		if !o.Failed {
			s.succeed()
		}
	}
	if o.Refused != nil || s.backoff != nil {
		s.newBackoff().refusal = o.Refused
	}
	if o.Chosen != nil {
		s.scaled, s.replicas = true, int32(*o.Chosen)
	}
	if o.Good {
		l.unsettled = l.unsettled || !maps.Equal(s.baseline, o.Baseline) || s.excused != o.Excused
		s.baseline, s.excused = o.Baseline, o.Excused
		if o.Owner.Manager != "" {
			s.owner = unique.Make(o.Owner)
		}
	}
	if o.Version > s.version && !rewound {
		s.version = o.Version
		// An observation made during the write and older than its result is out of date.
		if s.pending != nil && s.pending.Version != 0 && s.pending.Version <= o.Version {
			s.pending = nil
		}
	}
	if s.pending != nil && s.pending.Live != nil && s.judged && s.pending.Digest == s.good {
		s.pending = nil
	}
	if s.pending != nil {
		s.endWait(s.pending) // it arrived during the attempt, and is newer than its write
	}
	if s.pending == nil && o.Again != nil {
		s.pending = o.Again.kept()
		if o.Waits {
			return false
		}
	}
	if s.pending == nil {
		return false
	}
	l.dirty[s] = struct{}{}
	return true
}

// RecordRevert records a revert, made at now, of changes to an object observed at seen. It reports whether the revert
// began a fight. A deletion has the empty path.
func (l *Lock) RecordRevert(id manifest.ID, seen, now time.Time, paths []string) (fight bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.objects.of(id)
	if s == nil {
		return false
	}
	return s.newBackoff().budget.RecordRevert(seen, now, paths, &l.storm)
}
