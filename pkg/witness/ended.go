package witness

import (
	"context"
	"math"

	admissionv1 "k8s.io/api/admission/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/trust"
)

// ended judges the end of a record: its deletion, for which after is nil, or a status that is neither deployed nor
// pending. A deletion or uninstallation ends the trust in earlier revisions, unless a user ends an interrupted upgrade:
// the deletion of its record returns to the trusted revision.
func (h *hearing) ended(
	ctx context.Context, r *admissionv1.AdmissionRequest, hr *v1alpha1.HelmRelease, before, after *stored,
) (result string, err error) {
	by := writerOf(r)
	err = h.Store.Change(ctx, hr, func(s *trust.State) (changed bool, err error) {
		if after == nil && h.mayReturn(ctx, r, hr, before, s) {
			s.Next, s.Pending, result = nil, nil, "Returned"
			return true, nil
		}
		if before != nil && before.Status.IsPending() {
			changed = s.Interrupt(before.UID, before.Revision, by)
		}
		result = "Forgotten"
		switch {
		case after == nil:
			return s.Forget(before.Revision, by) || changed, nil
		case after.Status == release.StatusUninstalling:
			s.Uninstall(by)
		case after.Status == release.StatusUninstalled:
			s.Forget(math.MaxInt, by) // of any revision
		default:
			result = "NotDeployed"
			return changed, nil
		}
		return true, nil
	})
	return result, err
}

// mayReturn reports whether a record is that of a trusted upgrade, and a user may carry out the difference from it to
// the trusted revision. It is the difference from the content that Helm deploys: any user may store another.
func (h *hearing) mayReturn(
	ctx context.Context, r *admissionv1.AdmissionRequest, hr *v1alpha1.HelmRelease, from *stored, s *trust.State,
) bool {
	if s.Next == nil || s.Next.UID != from.UID {
		return false
	}
	before, _ := h.base(ctx, s.Next, from)
	after, _ := h.base(ctx, s.Trusted, from)
	if len(before) == 0 || len(after) == 0 {
		return false
	}
	missing, err := h.lacks(ctx, r.UserInfo, after, [][]trust.Object{before}, hr.Spec.ReplaceImmutable)
	return err == nil && missing == nil
}
