package proving

import (
	"github.com/rancher/helm-locker/pkg/load"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/release"
)

// newestRevision is the newest revision of a release, loaded on first use.
type newestRevision struct {
	record release.Record
	found  bool
	loaded *load.Revision
}

// isDesired reports whether the manifest of the newest record is the desired state. It is not without a record, or
// while Helm uninstalls.
func (r *newestRevision) isDesired() bool {
	return r.found && r.record.Status != release.StatusUninstalling && r.record.Status != release.StatusUninstalled
}

// is reports whether the newest record is rec. A rec without UID means no record.
func (r *newestRevision) is(rec release.Record) bool {
	return r.found && r.record.Same(rec) || !r.found && rec.UID == ""
}

// under returns the record for a write after w, even without a newest record. Such a write belongs to the same release
// as w, although the newest record may be stored in the release named by the objects.
func (r *newestRevision) under(w lock.Write) release.Record {
	rec := r.record
	rec.Key, rec.As = w.Record.Key, w.Record.As
	return rec
}
