package remediate

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/plain"
)

// isFinalized reports whether a write with the result done removed the last finalizer of an object with a pending
// deletion: then the object is deleted.
func isFinalized(done *unstructured.Unstructured) bool {
	return done.GetDeletionTimestamp() != nil && len(done.GetFinalizers()) == 0
}

// deleting completes the outcome of an object with declared content. With a pending deletion, the object is drifted all
// the same. The content is known, so nothing is written until it changes.
func (o *Options) deleting(
	l *lock.Lock, w *lock.Work, live *unstructured.Unstructured, outcome lock.Outcome,
) lock.Outcome {
	if live.GetDeletionTimestamp() == nil || !outcome.Good {
		return outcome
	}
	outcome.Reported, outcome.Problem = true, pendingDeletion(w, live)
	if w.Before == nil || *w.Before != *outcome.Problem {
		o.Reporter.Deletion(l, w, live, outcome.Problem)
	}
	return outcome
}

// pendingDeletion returns the problem of an object with a pending deletion and declared content.
func pendingDeletion(w *lock.Work, live *unstructured.Unstructured) *lock.Problem {
	text := drift.DescribeDeletion(live) + "; its content stays protected"
	if !judge.RunsOnce(w.ID, live.Object) {
		text += ", and it is re-created when it is gone"
	}
	return &lock.Problem{Reason: v1alpha1.ReasonBeingDeleted, Message: plain.Line(text), Drifted: true}
}
