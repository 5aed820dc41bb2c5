package remediate

import (
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/events"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/revert"
)

// comparer compares live objects with their declarations.
type comparer struct{ *Options }

// judge judges an object. It returns the outcome if there is nothing to do, and otherwise the result to act on.
func (cp *comparer) judge(l *lock.Lock, w *lock.Work) (*result, *lock.Outcome) {
	in, err := cp.Inputs.Of(l, w)
	if err != nil {
		return nil, &lock.Outcome{Failed: true, Problem: problemOf(w.ID, err, false)}
	}
	v := &result{Drift: events.Drift{Work: w}, in: in}
	v.Found = judge.Judge(v.in)
	v.logTo(cp.Log.WithField("release", l.Release.String()))
	return v, cp.outcome(l, v)
}

// outcome returns the outcome of an object without anything to do; otherwise it prepares v and returns nil.
func (cp *comparer) outcome(l *lock.Lock, v *result) *lock.Outcome {
	switch v.Found.State {
	case judge.NotRecreated:
		// Reported with the digest of nothing: it is judged again when it exists.
		return &lock.Outcome{
			Reported: true, Problem: &lock.Problem{Reason: v1alpha1.ReasonNotRecreated, Message: v.Found.Why},
		}
	case judge.InSync:
		if !v.Found.Unfinished || l.Detect {
			return v.good()
		}
		v.Operation, v.revert = v1alpha1.DriftModified, v.revertOf(l, v.Found)
		v.revert.Target, v.revert.Unfinished = v.Live.Object, true
		return nil
	case judge.BeingDeleted:
		if !l.Detect {
			good := cp.deleting(l, v.Work, v.Live, *v.good())
			return &good
		}
	case judge.Missing:
		v.Operation = v1alpha1.DriftMissing
		if v.Existed {
			v.Operation = v1alpha1.DriftDeleted
		}
		v.revert = revert.Creation(v.Object, v.Found.Desired, v.in.Blank, v.Found.Owner)
		v.revert.Record = l.Record
		return nil
	}
	v.Operation, v.revert = events.OperationOf(v.Found.Changes), v.revertOf(l, v.Found)
	return nil
}
