package prune

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
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
