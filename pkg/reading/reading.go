// Package reading decodes release records and parses their manifests, with one large record in memory at a time.
package reading

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/fair"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/status"
	"github.com/rancher/helm-locker/pkg/watch"
)

// Reader reads records of any release. It is safe for concurrent use.
type Reader struct {
	kinds *watch.Kinds
	large *fair.Semaphore
	clock clock.PassiveClock
}

// New returns a reader for manifests of some kinds. It acquires large for the namespace of each large record.
func New(kinds *watch.Kinds, large *fair.Semaphore, clock clock.PassiveClock) *Reader {
	return &Reader{kinds: kinds, large: large, clock: clock}
}

// Begin returns the work on some records of one release. End must be called on it.
func (r *Reader) Begin() *Reading { return &Reading{reader: r} }

// Parse turns the manifest of a record into objects. A problem is for the user to act on; after an error, the caller
// retries.
func (r *Reader) Parse(rel *release.Release, rec release.Record) (*judge.Manifest, status.Problem, error) {
	found, err := judge.Read(rel.Manifest, manifest.Release(rel.Key), func(gvk schema.GroupVersionKind) (bool, error) {
		kind, err := r.kinds.Get(gvk)
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
	return found, status.Problem{}, nil
}

// Reading is the work on records of one release. It is not safe for concurrent use.
type Reading struct {
	reader *Reader
	waited time.Duration
	slot   func() // releases the slot of a large record; nil without one
}

// Decode decodes the payload of a record, and returns an error for one of another record. While a large one is in
// memory, others wait until End. ctx may have ended then.
func (r *Reading) Decode(ctx context.Context, rec release.Record, payload []byte) (*release.Release, error) {
	alone := func() {
		begin := r.reader.clock.Now()
		if r.slot == nil {
			if slot, err := r.reader.large.Acquire(ctx, rec.Key.Namespace); err == nil {
				r.slot = slot
			}
		}
		r.waited += r.reader.clock.Since(begin)
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

// Waited returns the time that Decode has waited for others.
func (r *Reading) Waited() time.Duration { return r.waited }

// End admits the next large record to memory.
func (r *Reading) End() {
	if r.slot != nil {
		r.slot()
	}
}
