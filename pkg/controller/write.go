package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/apierror"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/revert"
)

// writer makes the writes to the objects of locked releases, in the name of Helm. It remembers each one in unproven
// until the record was read again after it.
type writer struct{ *common }

// holds reports whether the newest record of a locked release is the locked one, as of a moment after the call.
func (wr *writer) holds(ctx context.Context, l *lock.Lock) (bool, error) {
	begin := wr.Clock.Now()
	holds, err := wr.enforcer.Holds(ctx, l.Record)
	wr.debug(l.Release).WithFields(logrus.Fields{
		"revision": l.Record.Revision, "holds": holds, "took": wr.Clock.Since(begin).String(),
	}).Debug("verified the record")
	return holds, err
}

// write makes one write to an object of a locked release, and schedules its proof. creates is true if the object is a
// new one afterwards.
func (wr *writer) write(
	ctx context.Context, l *lock.Lock, v *result, creates bool, do writeFunc,
) (*lock.Write, *unstructured.Unstructured, error) {
	w := &lock.Write{Key: l.Key, Object: v.Object, Record: l.Record, Created: creates, Begun: wr.Clock.Now(),
		Manager: v.revert.Creator()}
	if !w.Created {
		undo, err := json.Marshal(drift.MergePatch(v.revert.Target, v.Live.Object))
		if err != nil {
			return nil, nil, fmt.Errorf("encode what the revert of %s undoes: %w", v.ID, err)
		}
		w.Undo, w.Version = undo, v.Live.GetResourceVersion()
	}
	wr.unproven.Begin(w)
	done, err := wr.carryOut(w, func() (*unstructured.Unstructured, error) {
		return do(ctx, enforce.SetID(l.Release), v.revert)
	})
	wr.queues.confirm.Add(l.Release)
	wr.debug(l.Release).WithFields(logrus.Fields{
		"object": v.ID.String(), "created": creates, "done": err == nil, "took": wr.Clock.Since(w.Begun).String(),
	}).Debug("wrote the object")
	return w, done, err
}

// writeFunc is a write method of enforce.Enforcer.
type writeFunc func(ctx context.Context, setID string, r *enforce.Revert) (*unstructured.Unstructured, error)

// carryOut makes a remembered write and records its end. It returns an object together with an error if the content was
// written, and only field ownership is not Helm's yet.
func (wr *writer) carryOut(
	w *lock.Write, do func() (*unstructured.Unstructured, error),
) (*unstructured.Unstructured, error) {
	done, err := do()
	// The write itself may have caused the conflict: the transport repeats a request after a broken connection.
	lost := done == nil && (unanswered(err) || !w.Created && !w.Deleted && apierrors.IsConflict(err))
	wr.unproven.Answered(w, done, lost)
	if err != nil && done == nil && !lost {
		wr.unproven.Failed(w)
	}
	return done, err
}

// toProve schedules the proof of a deletion, if it was carried out or its answer was lost.
func (wr *writer) toProve(w *lock.Write, lost bool) {
	wr.unproven.Begin(w)
	wr.unproven.Answered(w, nil, lost)
	wr.queues.confirm.Add(w.Record.Key)
}

// maxSiblings bounds the objects that are read for the field manager of their release.
const maxSiblings = 10

// writeAsHelm sets the field manager of a revert.
func (wr *writer) writeAsHelm(ctx context.Context, l *lock.Lock, v *result) {
	v.Found.Owner.Manager = wr.manager(ctx, l, v)
	revert.As(v.revert, v.Found.Owner.Manager)
}

// manager returns the field manager of a revert. An object without a known owner gets the field manager of the release.
// When a lock begins, none of the release's objects may have been judged yet, so some are read.
func (wr *writer) manager(ctx context.Context, l *lock.Lock, v *result) string {
	if v.Found.Owner.Known || v.in.Owner.Manager != "" {
		return v.Found.Owner.Manager
	}
	if manager := l.Manager(); manager != "" { // by an object that was judged after this one
		return manager
	}
	helm := judge.Helm{Release: l.As, Manager: l.HelmManager, ServerSide: l.ServerSide}
	siblings := slices.DeleteFunc(l.Objects(), func(o *lock.Object) bool { return o.ID == v.ID })
	for _, o := range siblings[:min(len(siblings), maxSiblings)] {
		live, err := wr.enforcer.Get(ctx, revert.Object(o))
		if err != nil { // another one is read, or the manager of the record stays
			wr.Log.WithField("object", o.ID.String()).Debugf("read for its field manager: %s",
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
