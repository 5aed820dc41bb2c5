package controller

import (
	"context"
	"math"

	admissionv1 "k8s.io/api/admission/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/trust"
)

// ended judges the deletion or uninstallation of a record; after is nil for a deletion. It ends the trust in earlier
// revisions, unless the user who deletes a later record than the trusted one may carry out the difference between them:
// so users end an interrupted upgrade.
func (wi *witness) ended(
	ctx context.Context, r *admissionv1.AdmissionRequest, hr *v1alpha1.HelmRelease, seen, after *stored,
) (result string, err error) {
	by := writerOf(r)
	err = wi.trusted.change(ctx, hr, func(s *trust.State) (bool, error) {
		result = "Forgotten"
		switch {
		case after != nil && after.Status == release.StatusUninstalling:
			s.Uninstall(by)
		case after != nil:
			s.Forget(math.MaxInt, by)
		case s.Trusted != nil && seen.Revision > s.Trusted.Revision && wi.mayReturn(ctx, r, hr, seen, s.Trusted):
			result = "Returned"
			if s.Next != nil && seen.Revision >= s.Next.Revision {
				s.Next = nil
			}
		default:
			return s.Forget(seen.Revision, by), nil
		}
		return true, nil
	})
	return result, err
}

// mayReturn reports whether a user may carry out the difference from a record to the trusted one. Doubts about that
// are a no.
func (wi *witness) mayReturn(
	ctx context.Context, r *admissionv1.AdmissionRequest, hr *v1alpha1.HelmRelease, from *stored, to *trust.Record,
) bool {
	rel, err := wi.decode(ctx, from)
	if err != nil {
		return false
	}
	before, err := wi.objects(rel, from.Record)
	if err != nil {
		return false
	}
	after := wi.base(ctx, to, from)
	if len(after) == 0 {
		return false
	}
	rights, doubt := trust.Rights(before, after, hr.Spec.ReplaceImmutable)
	if doubt != "" {
		return false
	}
	missing, err := wi.missing(ctx, r.UserInfo, rights)
	return err == nil && missing == nil
}
