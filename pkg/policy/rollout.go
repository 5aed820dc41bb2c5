package policy

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/plain"
)

// rolled is the decision of a rollout about the releases of a policy.
type rolled struct {
	// moves are the releases that move to mode Enforce now.
	moves map[won]bool
	// heldSince has the start of each hold because of drift.
	heldSince map[won]string
}

// roll returns the releases of a policy that move to mode Enforce now and those that are held, and records the
// progress of the rollout. It is derived from the HelmReleases, and from the time of the next batch in the policy's
// status, so a restart changes nothing: at most a batch moves within an interval, unless users agree to more.
func (pl *planner) roll(c *candidate, all []won) rolled {
	if !rolls(c.HelmReleasePolicy) {
		return rolled{}
	}
	var moved, waiting []won
	var times []time.Time // of the moves that count against the batch
	interval := interval(c.Spec.Rollout)
	for _, w := range all {
		if !enforced(w.existing) {
			waiting = append(waiting, w)
			continue
		}
		moved = append(moved, w)
		if since, ok := enforcedSince(w.existing); ok && since.After(pl.Now.Add(-interval)) {
			times = append(times, since)
		}
	}
	status := &v1alpha1.RolloutStatus{State: v1alpha1.RolloutProgressing}
	c.rollout = status
	q := pl.queue(c.Spec.Rollout, waiting)
	moves := map[won]bool{}
	why := trouble(moved, c.Spec.Rollout.MaxContended)
	if c.unaccepted() {
		why = "spec.acceptRecordsOfAnyone is not set, nor is spec.template.spec.serviceAccountName"
	}
	if why != "" {
		status.State, status.Message = v1alpha1.RolloutStopped, why
	} else {
		free := batchSize(c.Spec.Rollout) - len(times)
		if pl.Now.Before(pl.nextBatch(c.HelmReleasePolicy, interval)) {
			free = 0
		}
		batch := q.ready[:max(0, min(free, len(q.ready)))]
		for _, w := range slices.Concat(q.agreed, batch) {
			moves[w] = true
			times = append(times, wholeSecond(pl.Now))
			delete(q.since, w)
		}
		pl.next(c, times, len(q.ready)-len(batch)+len(q.held))
		c.again = earlier(c.again, q.deadline)
		status.Message = joined(notWatched(waiting), q.text())
	}
	status.Enforced, status.Waiting, status.Held = len(moved)+len(moves), len(waiting)-len(moves), len(q.held)
	if status.Waiting == 0 && status.State == v1alpha1.RolloutProgressing {
		status.State = v1alpha1.RolloutComplete
	}
	return rolled{moves: moves, heldSince: q.since}
}

// notWatched describes the releases in mode Detect that cannot move yet; empty for none.
func notWatched(waiting []won) string {
	var names []string
	for _, w := range waiting {
		if !watched(w.existing) {
			names = append(names, w.key.String())
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("%d not watched yet: a release moves when it is deployed, its record is trusted and all its "+
		"objects have been compared (%s)", len(names), plain.Names(names, plain.MaxNamed))
}

// next records the time before which no more releases move without a user's consent, given the times of earlier
// moves and the number of releases that still have to move.
func (pl *planner) next(c *candidate, moved []time.Time, left int) {
	if left == 0 {
		return
	}
	interval := interval(c.Spec.Rollout)
	slices.SortFunc(moved, time.Time.Compare)
	c.again = pl.nextBatch(c.HelmReleasePolicy, interval)
	if len(moved) > 0 && len(moved) >= batchSize(c.Spec.Rollout) {
		// With so many moves within the interval, the first of a full batch has to be an interval ago.
		if full := moved[len(moved)-batchSize(c.Spec.Rollout)].Add(interval); full.After(c.again) {
			c.again = full
		}
	}
	if !c.again.After(pl.Now) { // all that are left are held, and the batch is not full
		c.again = time.Time{}
		return
	}
	at := metav1.NewTime(c.again.UTC())
	c.rollout.NextBatch = &at
}

// nextBatch returns the time of the next batch in the status of a policy, zero for none. It ignores one of an earlier
// generation, and one that is further away than an interval.
func (pl *planner) nextBatch(p *v1alpha1.HelmReleasePolicy, interval time.Duration) time.Time {
	s := p.Status
	if s.Rollout == nil || s.Rollout.NextBatch == nil || s.ObservedGeneration != p.Generation ||
		s.Rollout.NextBatch.After(pl.Now.Add(interval+time.Second)) {
		return time.Time{}
	}
	return s.Rollout.NextBatch.Time
}

// trouble returns the reason why no more releases may move, given the moved ones; empty when they may.
func trouble(moved []won, maxContended int) string {
	var failed, contended, denied []string
	for _, w := range moved {
		conditions := w.existing.Status.Conditions
		if meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionContended) {
			contended = append(contended, w.key.String())
		}
		drifted := meta.FindStatusCondition(conditions, v1alpha1.ConditionDrifted)
		if drifted != nil && drifted.Reason == v1alpha1.ReasonRevertFailed {
			failed = append(failed, w.key.String())
		}
		locked := meta.FindStatusCondition(conditions, v1alpha1.ConditionLocked)
		if locked != nil && locked.Status == metav1.ConditionFalse && locked.Reason == v1alpha1.ReasonForbidden {
			denied = append(denied, w.key.String())
		}
	}
	switch {
	case len(failed) > 0:
		return "reverts fail in " + plain.Names(failed, plain.MaxNamed)
	case len(denied) > 0:
		return "rights are missing to protect all objects of " + plain.Names(denied, plain.MaxNamed)
	case len(contended) > maxContended:
		return "objects are contended in " + plain.Names(contended, plain.MaxNamed)
	}
	return ""
}
