package remediate

import (
	"context"

	"github.com/rancher/helm-locker/pkg/apierror"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
)

// rescaled judges objects with a different number of replicas again, by the current autoscalers: watches can be behind,
// so the API server is asked before a number of replicas is restored, and no answer is a reason against it. It
// completes the objects that need no further work, and returns the others. It makes one list for all objects of a
// namespace.
func (cp *comparer) rescaled(ctx context.Context, l *lock.Lock, differing []*result) []*result {
	var rest []*result
	scaled := map[string][]*result{}
	for _, v := range differing {
		if v.in.Rescales(v.Found.Changes) {
			scaled[v.ID.Namespace] = append(scaled[v.ID.Namespace], v)
		} else {
			rest = append(rest, v)
		}
	}
	for namespace, results := range scaled {
		slot := cp.Slots.Write(ctx, l.Release)
		live, err := cp.Inputs.Scalers.List(ctx, namespace)
		slot()
		if err != nil {
			cp.Log.WithField("release", l.Release.String()).Debugf("numbers of replicas are left alone: %s",
				apierror.Safe(err))
		}
		judging, full := cp.Slots.Judging.Acquire(ctx, l.Release.Namespace)
		if full != nil { // the operator stops
			return nil
		}
		for _, v := range results {
			v.rejudge(live, err, cp.Inputs.Trusts(l.Ignore, v.ID))
			v.logTo(cp.Log.WithField("release", l.Release.String()))
			if outcome := cp.outcome(l, v); outcome != nil {
				cp.complete(l, v.Work, *outcome)
				continue
			}
			rest = append(rest, v)
		}
		judging()
	}
	return rest
}

// rejudge judges an object by the live autoscalers. live is nil when they are unknown because of err. The range of a
// manifest is known all the same.
func (v *result) rejudge(live *judge.Autoscalers, err error, trusted func(manifest.ID) bool) {
	if live == nil && v.in.Replicas != nil {
		return
	}
	v.unknown, v.in = err, v.in.Scaled(live, trusted)
	v.Found = judge.Judge(v.in)
}
