package locking

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rancher/helm-locker/pkg/apierror"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/ledger"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/proof"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/roster"
)

// storages knows the storages of records that the operator does not read.
type storages struct{ *Options }

// elsewhere searches for the record of a release in the storages that the operator does not read, to report the place
// to the user. It makes one request per storage for each generation of a HelmRelease, whatever the answer: it does not
// watch there.
func (st *storages) elsewhere(ctx context.Context, key string, hr *v1alpha1.HelmRelease, found bool) lock.Elsewhere {
	var known lock.Elsewhere
	asked := false
	st.Ledger.Update(key, func(e *ledger.Entry) {
		if found {
			e.Elsewhere, e.ElsewhereAt = lock.Elsewhere{}, 0
		}
		known, asked = e.Elsewhere, e.ElsewhereAt == hr.Generation
	})
	if found || asked || !st.Leading.Load() {
		return known
	}
	known = st.findElsewhere(ctx, roster.ReleaseOf(hr))
	st.Ledger.Update(key, func(e *ledger.Entry) { e.Elsewhere, e.ElsewhereAt = known, hr.Generation })
	return known
}

func (st *storages) findElsewhere(ctx context.Context, rel release.Key) (known lock.Elsewhere) {
	for _, storage := range release.Unread(st.Roster.Storages) {
		records, err := proof.Records(ctx, st.Metadata, storage, rel)
		switch {
		case apierrors.IsForbidden(err):
			known.Unknown = fmt.Sprintf("the operator may not list %ss in namespace %s", storage.Kind(), rel.Namespace)
		case err != nil:
			known.Unknown = fmt.Sprintf("%ss: %s", storage.Kind(), apierror.Safe(err))
		default:
			known.Record, known.Found = release.Newest(records)
		}
	}
	return known
}
