package controller

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/judge"
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
	r := lo.reader.Begin()
	begun := lo.Clock.Now()
	defer func() {
		r.End()
		now := lo.Clock.Now()
		lo.budget.spend(rec.Key, now, max(0, now.Sub(begun)-r.Waited()))
	}()
	rel, err := r.Decode(ctx, rec, payload)
	if err == nil {
		err = lo.belongs(rel, rec)
	}
	if err != nil {
		return status.Problemf(v1alpha1.ReasonDecodeFailed, "%s: %v", rec.Object(), err), nil
	}
	if ctx.Err() != nil { // perhaps while this waited for others
		return status.Problem{}, ctx.Err()
	}
	found, prob, err := lo.reader.Parse(rel, rec)
	if err != nil || prob.Reason != "" {
		return prob, err
	}
	return status.Problem{}, use(&contents{release: rel, writer: drift.WriterOf(stored.ManagedFields), Manifest: found})
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
