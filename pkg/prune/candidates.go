package prune

import (
	"context"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/pkg/load"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/watch"
)

// removed is an object of earlier revisions, but not of the locked one.
type removed struct {
	gvk  schema.GroupVersionKind
	keep bool
	// uid and revision are of the newest record with the object.
	uid      types.UID
	revision int
}

// candidates is the information about the earlier revisions of a release.
type candidates struct {
	// read are the records with their manifests in removed, and the unserved kinds at the time of the read.
	read    map[types.UID][]schema.GroupVersionKind
	removed map[manifest.ID]removed
	done    *lock.Lock // the lock with all candidates handled
	left    *lock.Lock // the lock of a doubted record with an existing candidate
	waits   *lock.Lock // the lock without pruning because of an unknown kind
}

// unknown reports whether the locked revision or an earlier one declares objects of a kind that was not served when its
// record was read. Then nothing is pruned, because the identities and policies of these objects are unknown.
func (k *candidates) unknown(l *lock.Lock) bool {
	unknown := l.Unknown
	for _, kinds := range k.read {
		unknown = unknown || len(kinds) > 0
	}
	return unknown
}

// add records an object of an earlier revision, but not of the locked one.
func (k *candidates) add(id manifest.ID, r removed) {
	before, known := k.removed[id]
	r.keep = r.keep || before.keep
	if known && before.revision > r.revision {
		r.uid, r.revision = before.uid, before.revision
	}
	k.removed[id] = r
}

// forget drops the objects of deleted records, unless one of the given records declares them, too. Otherwise the
// candidates of a release with an object named after each revision, such as a Job, would grow without bound.
func (k *candidates) forget(earlier []release.Record) {
	exists := make(map[types.UID]bool, len(earlier))
	for _, rec := range earlier {
		exists[rec.UID] = true
	}
	for uid := range k.read {
		if !exists[uid] {
			delete(k.read, uid)
		}
	}
	for id, r := range k.removed {
		if !exists[r.uid] {
			delete(k.removed, id)
		}
	}
}

// maxRemoved bounds the candidates of one release: each revision may declare other objects.
const maxRemoved = 20_000

// addAll adds the objects of an earlier revision, but not of the locked one. It returns false when there is no room for
// all of them.
func (k *candidates) addAll(l *lock.Lock, rec release.Record, objects []manifest.Object) (all bool) {
	all = true
	for _, o := range objects {
		_, known := k.removed[o.ID]
		switch {
		case l.Declares(o.ID):
		case !known && len(k.removed) >= maxRemoved:
			all = false
		default:
			k.add(o.ID, removed{gvk: o.GVK, keep: o.Keep, uid: rec.UID, revision: rec.Revision})
		}
	}
	return all
}

// waitForKind schedules another attempt for the release, when an unknown kind may be served.
func (pr *Pruner) waitForKind(l *lock.Lock, known *candidates) {
	known.waits = l
	pr.remember(l, *known)
	wait := pr.Kinds.Wait()
	if wait > watch.KindSoon {
		wait = historyLater
	}
	pr.Queues.Pruning.AddAfter(l.Key, wait)
}

// readHistory adds the objects of earlier revisions to the candidates. A process reads each manifest once, and once
// more after an unserved kind of it is served. An unreadable manifest proves nothing, and is skipped. The candidates of
// a revision are dropped with its record.
func (pr *Pruner) readHistory(ctx context.Context, l *lock.Lock, known *candidates) error {
	earlier := pr.Records.Before(l.Record)
	known.forget(earlier)
	for _, rec := range earlier {
		if unknown, done := known.read[rec.UID]; done && !pr.Kinds.Arrived(unknown) || l.Closed() {
			continue
		}
		if err := pr.pace.Wait(ctx); err != nil {
			return err
		}
		// A record that is not found was pruned by Helm meanwhile.
		if err := pr.readRemoved(ctx, l, rec, known); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// readRemoved is readHistory for one revision.
func (pr *Pruner) readRemoved(ctx context.Context, l *lock.Lock, rec release.Record, known *candidates) error {
	if err := pr.Budget.Await(ctx, rec.Key); err != nil {
		return err
	}
	var unknown []schema.GroupVersionKind
	prob, err := pr.Loader.Read(ctx, rec, func(found *load.Contents) error {
		if trusted, err := pr.Trusted.WasDeployed(ctx, l, rec, found.Release); err != nil || !trusted {
			return err
		}
		for _, o := range found.Unknown {
			unknown = append(unknown, o.GVK)
		}
		if !known.addAll(l, rec, found.Objects) {
			pr.Log.WithField(
				"release", l.Release.String(),
			).Debugf("earlier revisions declare more than %d objects; the others are left alone", maxRemoved)
		}
		return nil
	})
	if err != nil {
		return err
	}
	known.read[rec.UID] = unknown
	if prob.Reason != "" {
		pr.Log.WithField(
			"release", l.Release.String(),
		).Debugf("revision %d is passed over when prune candidates are collected: %s", rec.Revision, prob.Message)
	}
	return nil
}

// gone returns the candidates that a lock does not declare, sorted. It drops the others: they have come back.
func (k *candidates) gone(l *lock.Lock) []manifest.ID {
	ids := make([]manifest.ID, 0, len(k.removed))
	for id := range k.removed {
		if l.Declares(id) {
			delete(k.removed, id)
			continue
		}
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b manifest.ID) int { return strings.Compare(a.String(), b.String()) })
	return ids
}
