// Package witness sees the writes of release records, and keeps which of them are trusted: those whose writers may do
// what the record declares. pkg/trust has the rules.
package witness

import (
	"cmp"
	"context"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/pkg/apierror"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/guard"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/trust"
)

// See records whether the writer of a release record may carry out the record. Every request passes.
func (w *Witness) See(ctx context.Context, r *admissionv1.AdmissionRequest) guard.Decision {
	h := &hearing{Witness: w, reading: w.Reader.Begin()}
	defer h.reading.End()
	begun := h.Clock.Now()
	result, err := h.see(ctx, r)
	if err != nil {
		h.Log.WithField("object", r.Namespace+"/"+r.Name).Warnf("the write of a record is not judged: %s",
			apierror.Safe(err))
		result = "Unwitnessed"
	}
	h.Metrics.Guarded("witnessed", result, h.Clock.Since(begun))
	return guard.Decision{}
}

// see judges one request, and stores the result before it returns it.
func (h *hearing) see(ctx context.Context, r *admissionv1.AdmissionRequest) (string, error) {
	if r.DryRun != nil && *r.DryRun {
		return "DryRun", nil
	}
	// A malformed old record is like none: every lock waits until it is well-formed.
	before, err := storedOf(r, r.OldObject.Raw)
	if err != nil {
		before = nil
	}
	after, err := storedOf(r, r.Object.Raw)
	switch {
	case err != nil && before == nil:
		return "", err
	case err != nil:
		after = nil // without its labels, a record is out of sight as after its deletion
	case after == nil && before == nil:
		return "Malformed", nil
	}
	hr := h.Holder(cmp.Or(after, before).Key)
	if hr == nil {
		return "NotLocked", nil
	}
	if after == nil || after.Status != release.StatusDeployed && !after.Status.IsPending() {
		return h.ended(ctx, r, hr, before, after)
	}
	if before == nil {
		exists, err := h.exists(ctx, after.Record)
		if err != nil || exists {
			return "Exists", err
		}
	}
	if err := h.begun(ctx, r, hr, before, after); err != nil {
		return "", err
	}
	same, err := h.sameContent(ctx, before, after)
	if err != nil || same {
		return "Unchanged", err
	}
	return h.judge(ctx, r, hr, before, after)
}

// begun records that Helm begins with a record, or that a user changes one that Helm has begun with. It comes before
// the judgement, because that may take too long: any user may write a record that does.
func (h *hearing) begun(
	ctx context.Context, r *admissionv1.AdmissionRequest, hr *v1alpha1.HelmRelease, before, after *stored,
) error {
	wasPending := before != nil && before.Status.IsPending()
	if !wasPending && !after.Status.IsPending() || wasPending && before.equals(after) {
		return nil
	}
	return h.Store.Change(ctx, hr, func(s *trust.State) (bool, error) {
		if wasPending {
			return s.TakeOver(before.UID, writerOf(r)), nil
		}
		s.Begin(after.UID, writerOf(r))
		return true, nil
	})
}

// exists reports whether a record exists, so that the API server is about to refuse its creation.
func (h *hearing) exists(ctx context.Context, rec release.Record) (bool, error) {
	_, err := h.Metadata.Resource(rec.Storage.GVR()).Namespace(rec.Key.Namespace).
		Get(ctx, rec.ObjectName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// judge decides on the difference that a write makes.
func (h *hearing) judge(
	ctx context.Context, r *admissionv1.AdmissionRequest, hr *v1alpha1.HelmRelease, before, after *stored,
) (result string, err error) {
	rel, err := h.decode(ctx, after)
	if err != nil {
		return "", err
	}
	rec := trust.Record{UID: after.UID, Revision: after.Revision, Digest: trust.Digest(after.Key.Namespace, rel),
		Replace: hr.Spec.ReplaceImmutable, Reason: v1alpha1.TrustWitnessed, Time: h.Store.Now(), Writer: writerOf(r)}
	by := judge.Requester{User: r.UserInfo.Username, Groups: r.UserInfo.Groups}
	deployed := func(s *trust.State) {
		if after.Status == release.StatusDeployed {
			s.Deployed(rec, by, hr.Spec.ExpectedWriters)
		}
	}
	if len(hr.Spec.ExpectedWriters) > 0 { // before the rights, which may not be known in time
		if err := h.Store.Change(ctx, hr, func(s *trust.State) (bool, error) {
			deployed(s)
			return true, nil
		}); err != nil {
			return "", err
		}
	}
	if by.IsOneOf(h.NeverWriters) {
		return "NeverWriter", h.Store.Change(ctx, hr, func(s *trust.State) (bool, error) {
			s.Refuse(trust.Refusal{Record: rec})
			deployed(s)
			return true, nil
		})
	}
	declared, err := h.objects(rel, after.Record)
	if err != nil {
		return "", err
	}
	err = h.Store.Change(ctx, hr, func(s *trust.State) (bool, error) {
		bases, compared := h.bases(ctx, s, rec, before, after)
		missing, err := h.lacks(ctx, r.UserInfo, declared, bases, rec.Replace)
		switch {
		case err != nil:
			return false, err
		case missing == nil && !compared && after.Status == release.StatusDeployed:
			s.Start(rec)
			result = "Trusted"
		default:
			result = recordDecision(s, rec, missing, after.Status)
		}
		// A refused revision may have been deployed: a role takes fewer rights of Helm than of a record.
		if before == nil && missing == nil {
			s.Witness(rec.Revision)
		}
		deployed(s)
		return true, nil
	})
	return result, err
}

// recordDecision records the decision about a record in the state, and returns it.
func recordDecision(s *trust.State, rec trust.Record, missing *trust.Right, status release.Status) string {
	switch {
	case missing != nil:
		s.Refuse(trust.Refusal{Record: rec, Missing: missing})
		return "Refused"
	case status == release.StatusDeployed:
		s.Trust(rec)
	default:
		s.Next = &rec
	}
	return "Trusted"
}
