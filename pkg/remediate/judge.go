package remediate

import (
	"github.com/sirupsen/logrus"

	"github.com/rancher/helm-locker/pkg/apierror"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/events"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/revert"
	"github.com/rancher/helm-locker/pkg/writing"
)

// comparer compares live objects with their declarations.
type comparer struct{ *Options }

// result is an object that is not as Helm left it, with the inputs for acting on it.
type result struct {
	events.Drift
	in judge.Input
	// unknown is the reason why the live autoscalers are unknown; nil when they are known or do not matter.
	unknown error
	revert  *enforce.Revert
	// refused are the changes that cannot be restored, as dry runs have shown; nil if dry runs have not.
	refused []drift.Change
}

// target is the write of the revert.
func (v *result) target() writing.Target {
	return writing.Target{Object: v.Object, Live: v.Live, Revert: v.revert}
}

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

// logTo logs the judgement of an object and its reasons.
func (v *result) logTo(log *logrus.Entry) {
	fields := logrus.Fields{"object": v.ID.String(), "state": string(v.Found.State)}
	for name, text := range map[string]string{
		"paths": drift.Describe(v.Found.Changes, plain.MaxNamed), "why": v.Found.Why, "deletion": v.Found.Deletion,
	} {
		if text != "" {
			fields[name] = text
		}
	}
	log.WithFields(fields).Debug("judged the object")
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

// revertOf returns the write that reverts an existing object to the target of a judgement.
func (v *result) revertOf(l *lock.Lock, found judge.Result) *enforce.Revert {
	r := revert.Update(v.Object, v.Live, found, v.in.Blank)
	r.Record = l.Record
	return r
}

// good returns the outcome of an object whose content is as declared. It fails if the live autoscalers are unknown.
func (v *result) good() *lock.Outcome {
	if v.unknown != nil {
		again, problem := v.Observation, problemOf(v.ID, v.unknown, true)
		problem.Message = "the number of replicas is left alone, because the objects of the namespace " +
			"that may set it are not known: " + problem.Message
		return &lock.Outcome{Again: &again, Failed: true, Transient: true, Problem: problem}
	}
	return &lock.Outcome{
		Good: true, Digest: v.Digest, Version: v.Version, Baseline: v.Found.Baseline, Owner: v.Found.Owner,
		Excused: v.Found.Excused, Chosen: v.Found.Chosen, Additions: v.in.HasAdditions(v.Found, v.Live),
	}
}

func (v *result) readAgain() *lock.Observation {
	return &lock.Observation{NeedsGet: true, Last: v.Last, Seen: v.Seen}
}

func (v *result) driftProblem() *lock.Problem {
	p := &lock.Problem{Reason: v1alpha1.ReasonDriftDetected, Message: v.Summary(), Drifted: true}
	switch {
	case v.Found.Deletion != "" && len(v.Found.Changes) == 0:
		p.Reason = v1alpha1.ReasonBeingDeleted
	case v.Found.Deletion != "":
		p.Message += "; " + plain.Line(v.Found.Deletion)
	}
	return p
}

// unknownForm is the outcome for an object with an unknown form.
func (v *result) unknownForm(err error) *lock.Outcome {
	again := v.Observation
	return &lock.Outcome{Again: &again, Failed: true, Transient: apierror.Transient(err), Problem: problemOf(v.ID, err, false)}
}
