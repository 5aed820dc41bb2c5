package policy

import (
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/plain"
)

// queue has the releases of a rollout in mode Detect, except those that are not compared yet.
type queue struct {
	// agreed are held releases with the consent of a user: they move at once.
	agreed []won
	// ready move with the next batches, in this order: first those without drift.
	ready []won
	// held wait for a consent, for the end of their drift or for their deadline.
	held []won
	// since has the start of the hold of each drifted release.
	since map[won]string
	// deadline is the first deadline of a held release; zero for none.
	deadline time.Time
}

// queue sorts the waiting releases of a rollout.
func (pl *planner) queue(r *v1alpha1.Rollout, waiting []won) queue {
	q := queue{since: map[won]string{}}
	var last []won
	for _, w := range waiting {
		hr := w.existing
		switch {
		case !watched(hr):
			if since, held := heldSince(hr); held && r.Drifted != v1alpha1.DriftedRevert {
				q.since[w] = formatTime(since) // an upgrade, for example: the drift may be there afterwards
				q.held = append(q.held, w)
			}
		case !meta.IsStatusConditionTrue(hr.Status.Conditions, v1alpha1.ConditionDrifted):
			q.ready = append(q.ready, w)
		case r.Drifted == v1alpha1.DriftedRevert:
			last = append(last, w)
		default:
			last = pl.hold(&q, r, w, last)
		}
	}
	q.ready = append(q.ready, last...)
	return q
}

// hold adds a drifted release to a queue, or to last if its deadline is over. It returns last.
func (pl *planner) hold(q *queue, r *v1alpha1.Rollout, w won, last []won) []won {
	since, held := heldSince(w.existing)
	if !held || since.After(pl.Now.Add(time.Second)) { // a time in the future is not of a rollout
		since = wholeSecond(pl.Now)
	}
	q.since[w] = formatTime(since)
	deadline := time.Time{}
	if r.HoldFor != nil {
		deadline = since.Add(r.HoldFor.Duration)
	}
	switch {
	case held && agreed(w.existing):
		q.agreed = append(q.agreed, w)
	case !deadline.IsZero() && !deadline.After(pl.Now):
		last = append(last, w)
	default:
		q.held = append(q.held, w)
		q.deadline = earlier(q.deadline, deadline)
	}
	return last
}

// text describes the held releases; empty for none.
func (q *queue) text() string {
	if len(q.held) == 0 {
		return ""
	}
	var names []string
	for _, w := range q.held {
		names = append(names, w.key.String())
	}
	text := fmt.Sprintf("%d held because of drift (%s): helm-locker enforce RELEASE -n NAMESPACE shows and "+
		"reverts it", len(names), plain.Names(names, plain.MaxNamed))
	if !q.deadline.IsZero() {
		text += "; the next batch after " + formatTime(q.deadline) + " reverts it unasked"
	}
	return text
}

// heldSince returns the start of the hold of a release in a rollout; false for none.
func heldSince(hr *v1alpha1.HelmRelease) (time.Time, bool) {
	if hr == nil {
		return time.Time{}, false
	}
	since, err := time.Parse(time.RFC3339, hr.Annotations[v1alpha1.HeldSinceAnnotation])
	return since, err == nil
}

// agreed reports whether a user has agreed to the revert of a release's drift, at the newest revision.
func agreed(hr *v1alpha1.HelmRelease) bool {
	return hr.Annotations[v1alpha1.EnforceRevisionAnnotation] == strconv.Itoa(hr.Status.Version)
}
