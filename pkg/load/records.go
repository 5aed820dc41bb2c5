package load

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/claims"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/ledger"
	"github.com/rancher/helm-locker/pkg/proof"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/status"
)

// Contents are a record and the objects declared in its manifest.
type Contents struct {
	Release *release.Release
	// Writer is the field manager that wrote the record; empty when unknown.
	Writer string
	*judge.Manifest
}

// errRecordChanged means that the record has changed since the event of the watch; the next event is on the way.
var errRecordChanged = errors.New("the release record changed while it was read")

// Read gets the payload of a record, decodes it, parses its manifest, and calls use with the result. Until use returns,
// no other large record is in memory. The release is charged with the time. A problem is for the user to act on, and
// use is not called; after an error, the caller retries.
func (lo *Loader) Read(ctx context.Context, rec release.Record, use func(*Contents) error) (status.Problem, error) {
	stored, payload, err := proof.Payload(ctx, lo.Kubernetes, rec)
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
	r := lo.Reader.Begin()
	begun := lo.Clock.Now()
	defer func() {
		r.End()
		now := lo.Clock.Now()
		lo.Budget.Spend(rec.Key, now, max(0, now.Sub(begun)-r.Waited()))
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
	found, prob, err := lo.Reader.Parse(rel, rec)
	if err != nil || prob.Reason != "" {
		return prob, err
	}
	return status.Problem{}, use(&Contents{Release: rel, Writer: drift.WriterOf(stored.ManagedFields), Manifest: found})
}

// belongs returns an error for a record in another namespace than that of its payload, if the release has records there
// as well. The record is a copy then, or Helm has two records of one release, and the active one is unknown.
func (lo *Loader) belongs(rel *release.Release, rec release.Record) error {
	if rel.Key == rec.Key {
		return nil
	}
	// Before the lookup: the event of a record stored after it finds these entries.
	lo.Ledger.Each(func(_ string, e *ledger.Entry) {
		if e.Release == rec.Key && e.Record.Same(rec) { // and not one of an earlier revision
			e.Names = rel.Key
		}
	})
	if newest, found := lo.Records.Newest(rel.Key); found && newest.Status != release.StatusUninstalled {
		return fmt.Errorf("%w: it is about release %s, which has records in its own namespace; name that release in "+
			"the HelmRelease if this one is a copy",
			release.ErrMismatch, rel.Key)
	}
	return nil
}

// Declared reads the declared objects of a record. A damaged record declares nothing.
func (lo *Loader) Declared(ctx context.Context, rec release.Record) (*claims.Declaration, error) {
	slot, err := lo.Slots.Loading.Acquire(ctx, rec.Key.Namespace)
	if err != nil {
		return nil, err
	}
	defer slot()
	found := claims.NoDeclaration(rec)
	_, err = lo.Read(ctx, rec, func(r *Contents) error {
		found = claims.NewDeclaration(rec, r.Release.Key, r.IDs())
		return nil
	})
	return found, err
}
