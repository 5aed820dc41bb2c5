// Package gather collects the input of pkg/judge for the objects of locks.
package gather

import (
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/rules"
	"github.com/rancher/helm-locker/pkg/watch"
)

// Inputs gathers inputs from the lock table and the live autoscalers. It is safe for concurrent use.
type Inputs struct {
	Table   *lock.Table
	Scalers *watch.Autoscalers // set before the first call
	Clock   clock.PassiveClock
}

// Of returns the input for judging an object of a lock.
func (in *Inputs) Of(l *lock.Lock, w *lock.Work) (judge.Input, error) {
	desired, blank, err := w.Declared()
	if err != nil {
		return judge.Input{}, err
	}
	input := judge.Input{
		ID: w.ID, Release: l.As, Desired: desired, Live: w.Live, Last: w.Last, Schema: w.Schema, Rules: w.Rules,
		Strict: l.Strict, ServerSide: l.ServerSide, Scalable: w.Scalable, Replicas: w.Replicas, Chosen: w.Chosen,
		First: w.First, Baseline: w.Baseline, Owner: w.Owner, Excused: w.Excused,
		GoneFor: in.Clock.Since(w.Seen), Manager: l.HelmManager, Blank: blank,
	}
	// Where another lock holds the autoscaler, the live one counts, and not that of this manifest.
	if input.Replicas != nil && in.Table.Holder(input.Replicas.By) != l {
		input.Replicas = nil
	}
	return input.Scaled(in.Scalers.Known(), in.Trusts(l.Ignore, w.ID)), nil
}

// Trusts returns a function that reports whether an object without a range of its own, such as a Rollout, may set the
// number of replicas of target. It may if the manifest of a locked release has it do so, or one of the rules for the
// release of target names it. Its own reference does not count, as any user may create it.
func (in *Inputs) Trusts(ignore *rules.Rules, target manifest.ID) func(scaler manifest.ID) bool {
	return func(scaler manifest.ID) bool {
		if holder := in.Table.Holder(scaler); holder != nil {
			if w, owned := holder.Peek(scaler); owned && !judge.IgnoresRange(scaler, w.Rules) {
				declared, _, err := w.Declared()
				return err == nil && judge.Names(scaler, declared, target)
			}
		}
		return ignore.Names(manifest.Object{ID: scaler, GVK: judge.KindOf(scaler)})
	}
}
