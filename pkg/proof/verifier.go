// Package proof answers one question: is this record still the newest one of its release, as of now? It knows of no
// objects.
//
// Helm stores a record before it touches an object. So a write is not Helm's to lose if the object was observed, then
// the record was found to be the newest, and then the write went out with the observed resourceVersion as its
// precondition.
package proof

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/metadata"

	"github.com/rancher/helm-locker/pkg/release"
)

// Verifier reports whether a record still is the newest one of its release, as of a moment after the call. It lists the
// metadata of the release's records from the API server, once for all waiting callers. If such a list would have to
// wait, it writes a fence instead: the fence proves that the watch of all records has delivered all earlier writes.
// With records in ConfigMaps, too, it always lists both storages: Helm may begin to work in the other one, and finds
// the objects of the release there as well. It is safe for concurrent use.
type Verifier struct {
	metadata   metadata.Interface
	storages   []release.Storage
	fence      *fence // nil without a Secret for fences
	fenceFirst bool
	lists      *shared[release.Key, newest]
	work       *background

	mu       sync.Mutex
	lastList time.Time
}

// newest is the newest record of a release, if there is one.
type newest struct {
	record release.Record
	found  bool
	each   []release.Record // the newest of each storage in which the release exists
}

// New returns a Verifier.
func New(o Options) *Verifier {
	if len(o.Storages) == 0 {
		o.Storages = []release.Storage{release.Secrets}
	}
	v := &Verifier{metadata: o.Metadata, storages: o.Storages, fenceFirst: o.ListsReadStorage, work: newBackground()}
	v.lists = newShared(v.work, func(ctx context.Context, key release.Key, _ int, done func(newest, error)) {
		done(v.list(ctx, key))
	})
	if o.Fence.Name != "" && slices.Equal(o.Storages, []release.Storage{release.Secrets}) {
		v.fence = newFence(o, v.work)
	}
	return v
}

// Close ends the requests in flight for former callers, and waits for them. The Verifier must not be used any more.
func (v *Verifier) Close() { v.work.close() }

// Holds reports whether the newest record of the release still is the given one: the same object, unchanged. The answer
// is as of a moment after the call. Call it after the objects to write were observed, and before they are written.
func (v *Verifier) Holds(ctx context.Context, rec release.Record) (bool, error) {
	now, found, err := v.Current(ctx, rec)
	if err != nil || !found {
		return false, err
	}
	return now.Same(rec), nil
}

// Current returns the newest record of a record's release, false when there is none. The objects of a record in another
// namespace may belong to a release with records in their own namespace (Record.As). While that release has a record,
// Helm works by it, and Current returns that one. The answer is as of a moment after the call.
func (v *Verifier) Current(ctx context.Context, rec release.Record) (release.Record, bool, error) {
	if rec.As != (release.Key{}) {
		now, found, err := v.Newest(ctx, rec.As)
		if err != nil && !OwnsNothing(err) || found && now.Status != release.StatusUninstalled {
			return now, found, err
		}
	}
	now, found, err := v.Newest(ctx, rec.Key)
	now.As = rec.As
	return now, found, err
}

// OwnsNothing reports whether an error of reading the records of a release means that no object belongs to it: its
// records are out of sight, or not in Helm's format. Otherwise an object could escape the lock of its release by naming
// such a release.
func OwnsNothing(err error) bool {
	return apierrors.IsForbidden(err) || errors.Is(err, release.ErrRecord)
}

// Newest returns the newest record of a release, false when there is none. The answer is as of a moment after the call.
func (v *Verifier) Newest(ctx context.Context, key release.Key) (release.Record, bool, error) {
	now, err := v.newest(ctx, key)
	return now.record, now.found, err
}

// NewestOfEach returns the newest record of each storage with the release. The answer is as of a moment after the call.
func (v *Verifier) NewestOfEach(ctx context.Context, key release.Key) ([]release.Record, error) {
	now, err := v.newest(ctx, key)
	return now.each, err
}

func (v *Verifier) newest(ctx context.Context, key release.Key) (newest, error) {
	if v.prefersFence() && v.fence.pass(ctx) == nil {
		// If the watch returns an error, a list may succeed: the watch also counts records by name only.
		if rec, found, err := v.fence.view.Current(key); err == nil && found {
			return newest{rec, true, release.NewestOfEach([]release.Record{rec})}, nil
		} else if err == nil {
			return newest{}, nil
		}
	}
	now, err := v.lists.get(ctx, key)
	if err != nil {
		return newest{}, fmt.Errorf("read the records of release %s: %w", key, err)
	}
	return now, nil
}

// listInterval is the time for which an API server delays a consistent list after another one of the same resource, if
// the resource is not written meanwhile. It answers from a cache that has to be as new as etcd, and asks etcd about
// that at most once in progressRequestPeriod (100 ms); some leeway is added.
const listInterval = 120 * time.Millisecond

// prefersFence reports whether a fence answers sooner, or at less cost, than a list now.
func (v *Verifier) prefersFence() bool {
	if v.fence == nil || !v.fence.usable() {
		return false
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	if v.fenceFirst || now.Sub(v.lastList) < listInterval {
		return true
	}
	v.lastList = now
	return false
}

// list reads all storages at once. Each answer is as of a moment after the call. The proof needs no more: a record that
// Helm writes later precedes any object that Helm writes still later.
func (v *Verifier) list(ctx context.Context, key release.Key) (newest, error) {
	found := make([][]release.Record, len(v.storages))
	group, ctx := errgroup.WithContext(ctx)
	for i, storage := range v.storages {
		group.Go(func() (err error) {
			found[i], err = Records(ctx, v.metadata, storage, key)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return newest{}, err
	}
	all := slices.Concat(found...)
	record, exists := release.Newest(all)
	return newest{record, exists, release.NewestOfEach(all)}, nil
}
