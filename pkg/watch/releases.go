package watch

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"github.com/rancher/helm-locker/pkg/release"
)

// NewReleases returns a follower of the records in some storages. It calls changed whenever a release record is
// created, changed or deleted; changed must be safe for concurrent use, and only enqueue. fence is the Secret for
// fences (see Fence).
func NewReleases(
	client metadata.Interface, storages []release.Storage, fence types.NamespacedName, log logrus.FieldLogger,
	changed func(release.Key),
) *Releases {
	r := &Releases{
		changed: changed, fences: fences{secret: fence}, synced: make(chan struct{}), ended: make(chan struct{}),
		records: map[release.Key]map[place]record{}, keys: map[place][]release.Key{},
	}
	for _, storage := range storages {
		r.stores = append(r.stores, newStore(r, client, storage, log))
	}
	return r
}

// Run follows records until ctx ends. It is called once.
func (r *Releases) Run(ctx context.Context) {
	defer close(r.ended)
	var running sync.WaitGroup
	defer running.Wait()
	for _, s := range r.stores {
		running.Go(func() { s.feed.run(ctx) })
	}
	for _, s := range r.stores {
		select {
		case <-s.feed.synced:
		case <-ctx.Done():
			return
		}
	}
	close(r.synced)
}

// Ended is closed when Run has returned: later changes are not observed.
func (r *Releases) Ended() <-chan struct{} { return r.ended }

// Synced is closed once the records that existed at the start are known.
func (r *Releases) Synced() <-chan struct{} { return r.synced }

// Err returns the last error of a watch, nil while all work.
func (r *Releases) Err() error {
	for _, s := range r.stores {
		if err := s.feed.lastError(); err != nil {
			return err
		}
	}
	return nil
}

// Newest returns the newest record of a release according to the watch.
func (r *Releases) Newest(key release.Key) (release.Record, bool) { return release.Newest(r.all(key)) }

func (r *Releases) all(key release.Key) []release.Record {
	r.mu.RLock()
	defer r.mu.RUnlock()
	all := make([]release.Record, 0, len(r.records[key]))
	for _, rec := range r.records[key] {
		if rec.err == nil {
			all = append(all, rec.Record)
		}
	}
	return all
}

// Fence returns a new token and a channel. The caller writes the token to the annotation release.FenceAnnotation of
// the Secret for fences; the channel is closed once all earlier writes to records are known. That Secret has the type
// of records and the label release.OwnerFence. A call ends the wait for the previous token. Use it only where Secrets
// are the only storage: the watches of two storages have no common order.
func (r *Releases) Fence() (token string, seen <-chan struct{}) { return r.fences.next() }

// Current returns the newest record of a release according to the watch, false when there is none. It returns an
// error when an unreadable object claims to be a record of the release: it may be the newest.
func (r *Releases) Current(key release.Key) (release.Record, bool, error) {
	if bad := r.Malformed(key); len(bad) > 0 {
		return release.Record{}, false, bad[0].Err
	}
	rec, found := r.Newest(key)
	return rec, found, nil
}

// NewestNamed returns the newest record of the release that the objects of rec name, or else that of rec: it is
// proof.Verifier.Current as of the last event.
func (r *Releases) NewestNamed(rec release.Record) release.Record {
	if now, found := r.Newest(rec.As); found && now.Status != release.StatusUninstalled {
		return now
	}
	now, _ := r.Newest(rec.Key)
	return now
}

// WorkBefore reports whether Helm works on an earlier revision than that of a record.
func (r *Releases) WorkBefore(rec release.Record) bool {
	return slices.ContainsFunc(r.Before(rec), func(rec release.Record) bool {
		return release.Transitioning(rec.Status)
	})
}

// Before returns the records of a release with a lower revision than the given one, newest first. Records in another
// storage are not part of its history.
func (r *Releases) Before(rec release.Record) []release.Record {
	earlier := slices.DeleteFunc(r.all(rec.Key), func(o release.Record) bool {
		return o.Storage != rec.Storage || o.Revision >= rec.Revision
	})
	slices.SortFunc(earlier, func(a, b release.Record) int { return b.Revision - a.Revision })
	return earlier
}

// Malformed returns the objects that falsely claim to be records of a release, in a stable order.
func (r *Releases) Malformed(key release.Key) []Malformed {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var bad []Malformed
	for _, rec := range r.records[key] {
		if rec.err != nil {
			bad = append(bad, Malformed{rec.Record, rec.err})
		}
	}
	slices.SortFunc(bad, func(a, b Malformed) int { return cmp.Compare(a.Object(), b.Object()) })
	return bad
}
