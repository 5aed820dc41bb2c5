package controller

import (
	"cmp"
	"context"
	"hash/maphash"
	"slices"
	"sync"

	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
)

// declaredBytes bounds what is kept of the records of one namespace, beyond that of the last one.
const declaredBytes = 1 << 20

// declarations remember which objects the newest records of other releases declare, for as long as locked objects say
// that they belong to one. It is safe for concurrent use; the zero value is empty.
type declarations struct {
	mu    sync.Mutex
	known map[release.Key]*declaration
	order int
}

// declaration is what is known of one record. It does not change once it is read.
type declaration struct {
	record release.Record
	// as is the release that its objects say they belong to.
	as release.Key
	// Hashes of identities, in order; keyed, so that no tenant can make up an identity with the hash of another.
	objects []uint64
	err     error // why the record could not be read; it is told once
	reading bool
	order   int // later ones have higher numbers
}

var identitySeed = maphash.MakeSeed()

func hashOf(id manifest.ID) uint64 { return maphash.Comparable(identitySeed, id) }

// newDeclaration returns what a record declares.
func newDeclaration(rec release.Record, as release.Key, ids []manifest.ID) *declaration {
	d := &declaration{record: rec, as: as}
	for _, id := range ids {
		d.objects = append(d.objects, hashOf(id))
	}
	slices.Sort(d.objects)
	return d
}

// size returns about how many bytes are kept.
func (d *declaration) size() int { return 256 + 8*len(d.objects) }

// owns reports whether an object that says it belongs to a release is one of the record. The zero Key stands for any.
func (d *declaration) owns(named release.Key, id manifest.ID) bool {
	return (named == release.Key{} || d.as == named) && d.has(id)
}

// has reports whether the record declares an object.
func (d *declaration) has(id manifest.ID) bool {
	_, found := slices.BinarySearch(d.objects, hashOf(id))
	return found
}

// get returns what a record declares, or that it is still to be found out, which the caller has to do if begin is true.
// An error is returned once.
func (d *declarations) get(rec release.Record) (known *declaration, begin bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.known[rec.Key]
	switch {
	case k == nil || !k.record.Same(rec) && !k.reading:
		d.set(&declaration{record: rec, reading: true})
		return nil, true, nil
	case k.reading: // if it is another record, who waits asks again when that is read
		return nil, false, nil
	case k.err != nil:
		delete(d.known, rec.Key)
		return nil, false, k.err
	}
	return k, false, nil
}

// mayBeOf reports whether the records of a release may be of the one that objects name, as far as one of them was read.
func (d *declarations) mayBeOf(stored, named release.Key) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.known[stored]
	return k == nil || k.reading || k.err != nil || k.as == named
}

// knows returns what a record declares if that has been read; nil otherwise.
func (d *declarations) knows(rec release.Record) *declaration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if k := d.known[rec.Key]; k != nil && !k.reading && k.err == nil && k.record.Same(rec) {
		return k
	}
	return nil
}

// put records what was found out. Older records of the same namespace are forgotten when it is too much.
func (d *declarations) put(found *declaration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.order++
	found.order = d.order
	d.set(found)
	var kept []*declaration
	size := 0
	for key, k := range d.known {
		if key.Namespace == found.record.Key.Namespace && !k.reading {
			kept = append(kept, k)
			size += k.size()
		}
	}
	slices.SortFunc(kept, func(a, b *declaration) int { return cmp.Compare(a.order, b.order) })
	for _, k := range kept {
		if size <= declaredBytes || k == found {
			return
		}
		size -= k.size()
		delete(d.known, k.record.Key)
	}
}

// set is called with d.mu held.
func (d *declarations) set(to *declaration) {
	if d.known == nil {
		d.known = map[release.Key]*declaration{}
	}
	d.known[to.record.Key] = to
}

// forget drops what is known of a release.
func (d *declarations) forget(key release.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if k := d.known[key]; k != nil && !k.reading {
		delete(d.known, key)
	}
}

// declaredBy reads which objects a record declares. A damaged record declares nothing.
func (lo *loader) declaredBy(ctx context.Context, rec release.Record) (*declaration, error) {
	slot, err := lo.slots.loading.Acquire(ctx, rec.Key.Namespace)
	if err != nil {
		return nil, err
	}
	defer slot()
	found := &declaration{record: rec}
	_, err = lo.read(ctx, rec, func(r *contents) error {
		found = newDeclaration(rec, r.release.Key, r.IDs())
		return nil
	})
	return found, err
}
