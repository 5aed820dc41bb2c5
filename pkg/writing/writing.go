// Package writing makes the writes to the objects of locked releases, and remembers them until they are proven.
package writing

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/apierror"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/queues"
)

// Writer makes the writes to the objects of locked releases, in the name of Helm. It remembers each one in Unproven
// until the record was read again after it. It is safe for concurrent use.
type Writer struct {
	Enforcer *enforce.Enforcer
	// Unproven are the writes without a later read of the record.
	Unproven *lock.Writes
	Queues   *queues.Queues

	Clock clock.PassiveClock
	Log   logrus.FieldLogger
}

// Holds reports whether the newest record of a locked release is the locked one, as of a moment after the call.
func (wr *Writer) Holds(ctx context.Context, l *lock.Lock) (bool, error) {
	begin := wr.Clock.Now()
	holds, err := wr.Enforcer.Holds(ctx, l.Record)
	wr.Log.WithFields(logrus.Fields{
		"release": l.Release.String(), "revision": l.Record.Revision, "holds": holds,
		"took": wr.Clock.Since(begin).String(),
	}).Debug("verified the record")
	return holds, err
}

// Target is an object to write, and its new content.
type Target struct {
	Object *lock.Object
	// Live is the observed object; nil for a creation.
	Live   *unstructured.Unstructured
	Revert *enforce.Revert
}

// Write makes one write to an object of a locked release, and schedules its proof. creates is true if the object is a
// new one afterwards.
func (wr *Writer) Write(
	ctx context.Context, l *lock.Lock, t Target, creates bool, do Func,
) (*lock.Write, *unstructured.Unstructured, error) {
	w := &lock.Write{Key: l.Key, Object: t.Object, Record: l.Record, Created: creates, Begun: wr.Clock.Now(),
		Manager: t.Revert.Creator()}
	if !w.Created {
		undo, err := json.Marshal(drift.MergePatch(t.Revert.Target, t.Live.Object))
		if err != nil {
			return nil, nil, fmt.Errorf("encode what the revert of %s undoes: %w", t.Object.ID, err)
		}
		w.Undo, w.Version = undo, t.Live.GetResourceVersion()
	}
	wr.Unproven.Begin(w)
	done, err := wr.CarryOut(w, func() (*unstructured.Unstructured, error) {
		return do(ctx, enforce.SetID(l.Release), t.Revert)
	})
	wr.Queues.Confirm.Add(l.Release)
	wr.Log.WithFields(logrus.Fields{
		"release": l.Release.String(), "object": t.Object.ID.String(), "created": creates, "done": err == nil,
		"took": wr.Clock.Since(w.Begun).String(),
	}).Debug("wrote the object")
	return w, done, err
}

// Func is a write method of enforce.Enforcer.
type Func func(ctx context.Context, setID string, r *enforce.Revert) (*unstructured.Unstructured, error)

// CarryOut makes a remembered write and records its end. It returns an object together with an error if the content was
// written, and only field ownership is not Helm's yet.
func (wr *Writer) CarryOut(
	w *lock.Write, do func() (*unstructured.Unstructured, error),
) (*unstructured.Unstructured, error) {
	done, err := do()
	// The write itself may have caused the conflict: the transport repeats a request after a broken connection.
	lost := done == nil && (apierror.Unanswered(err) || !w.Created && !w.Deleted && apierrors.IsConflict(err))
	wr.Unproven.Answered(w, done, lost)
	if err != nil && done == nil && !lost {
		wr.Unproven.Failed(w)
	}
	return done, err
}

// ToProve schedules the proof of a deletion, if it was carried out or its answer was lost.
func (wr *Writer) ToProve(w *lock.Write, lost bool) {
	wr.Unproven.Begin(w)
	wr.Unproven.Answered(w, nil, lost)
	wr.Queues.Confirm.Add(w.Record.Key)
}
