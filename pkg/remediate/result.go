package remediate

import (
	"slices"
	"strings"

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
	"github.com/rancher/helm-locker/pkg/salvage"
	"github.com/rancher/helm-locker/pkg/writing"
)

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
	return &lock.Outcome{Again: &again, Failed: true, Transient: apierror.Transient(err),
		Problem: problemOf(v.ID, err, false)}
}

// becomes replaces the result of the judgement.
func (v *result) becomes(found judge.Result, l *lock.Lock) {
	v.Found, v.Operation, v.revert = found, events.OperationOf(found.Changes), v.revertOf(l, found)
	v.Attribute()
}

// isRefusedAlike reports whether the API server refused the last revert of the object with its present content.
func (v *result) isRefusedAlike() bool {
	return v.Live != nil && v.Refusal != nil && v.Refusal.Content == v.Digest
}

// refusalBy returns the refusal of a revert to remember; nil for a refusal for other reasons than the content.
func (v *result) refusalBy(err error) *lock.Refusal {
	switch {
	case v.Live == nil || !salvage.RefusesContent(err):
		return nil
	case v.isRefusedAlike():
		return v.Refusal
	}
	return &lock.Refusal{Content: v.Digest, Changes: v.Found.Changes, Seen: v.SeenFirst(v.Found.Changes)}
}

// contested returns the changed paths of the object for its budget. An addition counts as its parent, because its
// writer may choose another key each time; a deletion has the empty path.
func (v *result) contested() []string {
	paths := make([]string, 0, len(v.Found.Changes)+1)
	for _, c := range v.Found.Changes {
		path := c.Path
		if c.Op == drift.Added {
			path = path[:max(0, strings.LastIndexByte(path, '/'))]
		}
		paths = append(paths, path)
	}
	if v.Live == nil || len(paths) == 0 {
		return append(paths[:0], "")
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}
