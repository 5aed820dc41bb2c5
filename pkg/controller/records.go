package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/proof"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/status"
)

// contents are a record and the objects declared in its manifest.
type contents struct {
	release *release.Release
	writer  string // the field manager that wrote the record; empty when unknown
	*judge.Manifest
}

// errRecordChanged means that the record has changed since the event of the watch; the next event is on the way.
var errRecordChanged = errors.New("the release record changed while it was read")

// read gets the payload of a record, decodes it, parses its manifest, and calls use with the result. Until use returns,
// no other large record is in memory. The release is charged with the time. A problem is for the user to act on, and
// use is not called; after an error, the caller retries.
func (lo *loader) read(ctx context.Context, rec release.Record, use func(*contents) error) (status.Problem, error) {
	stored, payload, err := proof.Payload(ctx, lo.clients.Kubernetes, rec)
	if err != nil {
		reason := v1alpha1.ReasonPayloadUnavailable
		if apierrors.IsForbidden(err) {
			reason = v1alpha1.ReasonForbidden
		}
		return status.Problemf(reason, "cannot read the record of revision %d: %v", rec.Revision, err), err
	}
	if stored.UID != rec.UID || stored.ResourceVersion != rec.ResourceVersion {
		return status.Problem{Reason: v1alpha1.ReasonLocking, Message: errRecordChanged.Error()}, errRecordChanged
	}
	r := reading{loader: lo}
	begun := lo.Clock.Now()
	defer func() {
		r.end()
		now := lo.Clock.Now()
		lo.budget.spend(rec.Key, now, max(0, now.Sub(begun)-r.waited))
	}()
	rel, err := r.decode(ctx, rec, payload)
	if err == nil {
		err = lo.belongs(rel, rec)
	}
	if err != nil {
		return status.Problemf(v1alpha1.ReasonDecodeFailed, "%s: %v", rec.Object(), err), nil
	}
	if ctx.Err() != nil { // perhaps while this waited for others
		return status.Problem{}, ctx.Err()
	}
	found, prob, err := lo.parse(rel, rec)
	if err != nil || prob.Reason != "" {
		return prob, err
	}
	found.writer = drift.WriterOf(stored.ManagedFields)
	return status.Problem{}, use(found)
}

// belongs returns an error for a record in another namespace than that of its payload, if the release has records there
// as well. The record is a copy then, or Helm has two records of one release, and the active one is unknown.
func (lo *loader) belongs(rel *release.Release, rec release.Record) error {
	if rel.Key == rec.Key {
		return nil
	}
	// Before the lookup: recordChanged of a record stored after it finds these entries.
	lo.entries.each(func(_ string, e *entry) {
		if e.release == rec.Key && e.Record.Same(rec) { // and not one of an earlier revision
			e.names = rel.Key
		}
	})
	if newest, found := lo.records.Newest(rel.Key); found && newest.Status != release.StatusUninstalled {
		return fmt.Errorf("%w: it is about release %s, which has records in its own namespace; name that release in "+
			"the HelmRelease if this one is a copy",
			release.ErrMismatch, rel.Key)
	}
	return nil
}

// parse turns the manifest of a record into objects.
func (lo *loader) parse(rel *release.Release, rec release.Record) (*contents, status.Problem, error) {
	found, err := judge.Read(rel.Manifest, manifest.Release(rel.Key), func(gvk schema.GroupVersionKind) (bool, error) {
		kind, err := lo.kinds.Get(gvk)
		return kind.Namespaced, err
	})
	var invalid *judge.InvalidError
	switch {
	case errors.As(err, &invalid):
		return nil, status.Problemf(v1alpha1.ReasonManifestInvalid,
			"the manifest of revision %d does not parse completely, so nothing of it is enforced: %v",
			rec.Revision, invalid.Err), nil
	case err != nil:
		return nil, status.Problem{Reason: v1alpha1.ReasonManifestInvalid, Message: err.Error()}, err
	}
	return &contents{release: rel, Manifest: found}, status.Problem{}, nil
}

// reading is the work on records of one release. It is not safe for concurrent use.
type reading struct {
	*loader
	waited time.Duration // for others
	slot   func()        // releases the slot of a large record; nil without one
}

// decode decodes the payload of a record, and returns an error for one of another record. While a large one is in
// memory, others wait until end. ctx may have ended then.
func (r *reading) decode(ctx context.Context, rec release.Record, payload []byte) (*release.Release, error) {
	alone := func() {
		begin := r.Clock.Now()
		if r.slot == nil {
			if slot, err := r.slots.large.Acquire(ctx, rec.Key.Namespace); err == nil {
				r.slot = slot
			}
		}
		r.waited += r.Clock.Since(begin)
	}
	rel, err := release.DecodeRecord(payload, alone)
	if errors.Is(err, release.ErrNoManifest) {
		err = nil // a chart of hooks, or an empty one: there is nothing to lock
	}
	if err == nil {
		err = rel.Matches(rec)
	}
	if err == nil && manifest.Large(rel.Manifest) {
		alone()
	}
	return rel, err
}

// end admits the next large record to memory.
func (r *reading) end() {
	if r.slot != nil {
		r.slot()
	}
}
