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

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"

	"github.com/rancher/helm-locker/pkg/release"
)

// Verifier reports whether a record still is the newest one of its release, as of a moment after it was asked. It asks
// the API server for a list of the metadata of the release's records, which all callers share that wait for it. Where
// such a list would wait, it writes a fence, which shows that the watch of all records has delivered what was written
// before. Where records are kept in ConfigMaps, too, it always lists, in both storages: Helm may begin to work in the
// other one than before, and finds the objects of the release there as well. It is safe for concurrent use.
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

// Options are what a Verifier works with.
type Options struct {
	// Metadata lists records.
	Metadata metadata.Interface
	// Storages are where records are; Secrets when there are none.
	Storages []release.Storage
	// Fence is the Secret of the operator's own that fences are written to, with Secrets; none when it has no name, or
	// records are elsewhere than in Secrets, too.
	Fence   types.NamespacedName
	Secrets typedcorev1.SecretsGetter
	// Records is the watch of records that delivers fences, too.
	Records View
	// ListsReadStorage makes the verifier prefer fences to all lists (see ListsReadStorage).
	ListsReadStorage bool
	Log              logrus.FieldLogger
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

// Close ends what is in flight for callers that are gone, and waits for it. The Verifier must not be used any more.
func (v *Verifier) Close() { v.work.close() }

// Holds reports whether the newest record of the release still is the given one: the same object, unchanged. The
// answer is as of a moment after the call. Call it after the objects to be written were observed, and before they are
// written.
func (v *Verifier) Holds(ctx context.Context, rec release.Record) (bool, error) {
	now, found, err := v.Current(ctx, rec)
	if err != nil || !found {
		return false, err
	}
	return now.Same(rec), nil
}

// Current returns the newest record of the release that a record is of, false when there is none. The objects of a
// record that is stored elsewhere may be those of a release whose records are where it says that it is (Record.As):
// while that one has a record, Helm works by it, and it is the one that is returned. The answer is as of a moment after
// the call.
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

// OwnsNothing reports whether an error of reading the records of a release means that no object belongs to it: they
// are out of sight, or what claims to be one is not as Helm writes it. Naming such a release would be a way out of the
// lock of another one otherwise.
func OwnsNothing(err error) bool {
	return apierrors.IsForbidden(err) || errors.Is(err, release.ErrRecord)
}

// Newest returns the newest record of a release, false when there is none. The answer is as of a moment after the call.
func (v *Verifier) Newest(ctx context.Context, key release.Key) (release.Record, bool, error) {
	now, err := v.newest(ctx, key)
	return now.record, now.found, err
}

// NewestOfEach returns the newest record of each storage in which the release exists. The answer is as of a moment
// after the call.
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

// listInterval is how long an API server makes a consistent list wait after another one of the same resource, if
// nothing of the resource is written meanwhile. It answers from a cache that has to be as new as etcd, and asks etcd
// about that at most so often (progressRequestPeriod, 100 ms); some leeway is added.
const listInterval = 120 * time.Millisecond

// prefersFence reports whether a fence answers sooner, or at less cost, than a list that begins now.
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

// list reads all storages at once. Each answer is as of a moment after the call, which is all that the proof needs: a
// record that Helm writes later comes before an object that Helm writes still later.
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
