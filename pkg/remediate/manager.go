package remediate

import (
	"context"
	"slices"

	"github.com/rancher/helm-locker/pkg/apierror"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/revert"
)

// maxSiblings bounds the objects that are read for the field manager of their release.
const maxSiblings = 10

// writeAsHelm sets the field manager of a revert.
func (rv *reverter) writeAsHelm(ctx context.Context, l *lock.Lock, v *result) {
	v.Found.Owner.Manager = rv.manager(ctx, l, v)
	revert.As(v.revert, v.Found.Owner.Manager)
}

// manager returns the field manager of a revert. An object without a known owner gets the field manager of the release.
// When a lock begins, none of the release's objects may have been judged yet, so some are read.
func (rv *reverter) manager(ctx context.Context, l *lock.Lock, v *result) string {
	if v.Found.Owner.Known || v.in.Owner.Manager != "" {
		return v.Found.Owner.Manager
	}
	if manager := l.Manager(); manager != "" { // by an object that was judged after this one
		return manager
	}
	helm := judge.Helm{Release: l.As, Manager: l.HelmManager, ServerSide: l.ServerSide}
	siblings := slices.DeleteFunc(l.Objects(), func(o *lock.Object) bool { return o.ID == v.ID })
	for _, o := range siblings[:min(len(siblings), maxSiblings)] {
		live, err := rv.Enforcer.Get(ctx, revert.Object(o))
		if err != nil { // another one is read, or the manager of the record stays
			rv.Log.WithField("object", o.ID.String()).Debugf("read for its field manager: %s",
				apierror.About(o.ID.GroupKind(), err))
			continue
		}
		if live == nil {
			continue
		}
		if owner := helm.On(live); owner.Known {
			return owner.Manager
		}
	}
	return v.Found.Owner.Manager
}
