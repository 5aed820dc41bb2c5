package admit

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rancher/helm-locker/pkg/apierror"
	"github.com/rancher/helm-locker/pkg/claims"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/release"
)

// An object may belong to another release than the locked one in three ways. Helm takes it over for the other release.
// Or it is an object of the other release already. Or the other release declared it before a takeover, and Helm deletes
// it with the other release. Metadata proves none of these, because anyone can write it. A record that declares the
// object does.

// claimsTimeout bounds the reads of the records of other releases. Unread records count as not declaring the object:
// the author of a slow record has proven nothing.
const claimsTimeout = time.Second

// ofAnother returns the reason to pass a request because of a release other than the locked one; empty for none. Read
// the newest record of the locked release before the call.
func (ad *Admission) ofAnother(ctx context.Context, q *question) judge.AdmissionReason {
	ctx, cancel := context.WithTimeoutCause(ctx, claimsTimeout, errClaimsTimeout)
	defer cancel()
	owner := q.ClaimedBefore()
	asked := []release.Key{{}, q.Release, q.Locked}
	for _, claimant := range []release.Key{owner, q.Claims()} {
		if slices.Contains(asked, claimant) {
			continue
		}
		asked = append(asked, claimant)
		found, err := ad.Others.Declares(ctx, claimant, q.ID)
		switch {
		case err != nil:
			return ad.unknown(ctx, q, err)
		case found == claims.HelmWorks:
			return judge.AdmitHelm
		case found == claims.HelmRests && claimant == owner:
			return judge.AdmitOtherRelease
		}
	}
	if q.After != nil {
		return ""
	}
	namespaces := []string{q.Locked.Namespace}
	if q.ID.Namespace != "" && q.ID.Namespace != q.Locked.Namespace {
		namespaces = append(namespaces, q.ID.Namespace)
	}
	working, err := ad.Others.AtWork(ctx, namespaces)
	if err != nil {
		return ad.unknown(ctx, q, err)
	}
	for _, stored := range working {
		if slices.Contains([]release.Key{q.Release, q.Locked}, stored) {
			continue
		}
		switch found, _, err := ad.Others.DeclaresIn(ctx, stored, release.Key{}, q.ID); {
		case err != nil:
			return ad.unknown(ctx, q, err)
		case found == claims.HelmWorks:
			return judge.AdmitHelm
		}
	}
	return ""
}

var errClaimsTimeout = errors.New("the records of other releases take too long to read")

// unknown returns the reason to pass a request after a failed question to the API server.
func (ad *Admission) unknown(ctx context.Context, q *question, err error) judge.AdmissionReason {
	ad.Log.WithField("object", q.ID.String()).Debugf("guard: read the records of other releases: %s",
		apierror.Safe(err))
	if errors.Is(context.Cause(ctx), errClaimsTimeout) {
		return ""
	}
	return judge.AdmitUnknown
}
