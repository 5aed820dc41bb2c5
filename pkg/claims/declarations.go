package claims

import (
	"cmp"
	"hash/maphash"
	"slices"
	"sync"

	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
)

// declaredBytes bounds the declarations of the records of one namespace, except for the last record.
const declaredBytes = 1 << 20

// Declarations cache the declared objects of the newest records of other releases, while locked objects have metadata
// of one of them. It is safe for concurrent use; the zero value is empty.
type Declarations struct {
	mu    sync.Mutex
	known map[source]*Declaration
	order int
}

// source is a release in one storage. Helm may work by the records of each.
type source struct {
	release.Key
	storage release.Storage
}

func sourceOf(rec release.Record) source { return source{rec.Key, rec.Storage} }

// Declaration is the cached content of one record. It does not change after the read.
type Declaration struct {
	record release.Record
	// as is the release named by the objects of the record.
	as release.Key
	// Keyed hashes of identities, in order. Because of the key, no tenant can make up an identity with the hash of
	// another.
	objects []uint64
	err     error // of the read of the record; returned once
	reading bool
	order   int // later ones have higher numbers
}

var identitySeed = maphash.MakeSeed()

func hashOf(id manifest.ID) uint64 { return maphash.Comparable(identitySeed, id) }

// NewDeclaration returns the declaration of a record whose objects name the release as.
func NewDeclaration(rec release.Record, as release.Key, ids []manifest.ID) *Declaration {
	d := &Declaration{record: rec, as: as}
	for _, id := range ids {
		d.objects = append(d.objects, hashOf(id))
	}
	slices.Sort(d.objects)
	return d
}

// NoDeclaration returns the declaration of a record that counts as declaring nothing.
func NoDeclaration(rec release.Record) *Declaration { return &Declaration{record: rec} }

// FailedDeclaration returns the result of a read that failed, for the next call of Declarations.Get.
func FailedDeclaration(rec release.Record, err error) *Declaration {
	return &Declaration{record: rec, err: err}
}

// Release returns the release with the record.
func (d *Declaration) Release() release.Key { return d.record.Key }

// size returns the approximate size of the declaration in memory, in bytes.
func (d *Declaration) size() int { return 256 + 8*len(d.objects) }

// Owns reports whether the record declares an object with metadata of the release named. The zero Key stands for any
// release.
func (d *Declaration) Owns(named release.Key, id manifest.ID) bool {
	return (named == release.Key{} || d.as == named) && d.has(id)
}

// has reports whether the record declares an object.
func (d *Declaration) has(id manifest.ID) bool {
	_, found := slices.BinarySearch(d.objects, hashOf(id))
	return found
}

// Get returns the declaration of a record, or nil while it is unread. With begin, the caller has to read it. An error
// is returned once.
func (d *Declarations) Get(rec release.Record) (known *Declaration, begin bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.known[sourceOf(rec)]
	switch {
	case k == nil || !k.record.Same(rec) && !k.reading:
		d.set(&Declaration{record: rec, reading: true})
		return nil, true, nil
	case k.reading: // for another record, the caller asks again after its read
		return nil, false, nil
	case k.err != nil:
		delete(d.known, sourceOf(rec))
		return nil, false, k.err
	}
	return k, false, nil
}

// MayBeOf reports whether the records of a release may be those of the release named by objects. It returns true until
// one of them was read.
func (d *Declarations) MayBeOf(stored, named release.Key) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	unread := true
	for _, storage := range release.Storages {
		k := d.known[source{stored, storage}]
		if k != nil && (k.reading || k.err != nil || k.as == named) {
			return true
		}
		unread = unread && k == nil
	}
	return unread
}

// Knows returns the declaration of a record after its read; nil before.
func (d *Declarations) Knows(rec release.Record) *Declaration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if k := d.known[sourceOf(rec)]; k != nil && !k.reading && k.err == nil && k.record.Same(rec) {
		return k
	}
	return nil
}

// Put records a declaration. It drops older records of the same namespace when they exceed declaredBytes.
func (d *Declarations) Put(found *Declaration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.order++
	found.order = d.order
	d.set(found)
	var kept []*Declaration
	size := 0
	for key, k := range d.known {
		if key.Namespace == found.record.Key.Namespace && !k.reading {
			kept = append(kept, k)
			size += k.size()
		}
	}
	slices.SortFunc(kept, func(a, b *Declaration) int { return cmp.Compare(a.order, b.order) })
	for _, k := range kept {
		if size <= declaredBytes || k == found {
			return
		}
		size -= k.size()
		delete(d.known, sourceOf(k.record))
	}
}

// set is called with d.mu held.
func (d *Declarations) set(to *Declaration) {
	if d.known == nil {
		d.known = map[source]*Declaration{}
	}
	d.known[sourceOf(to.record)] = to
}

// Forget drops the declarations of a release.
func (d *Declarations) Forget(key release.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, storage := range release.Storages {
		at := source{key, storage}
		if k := d.known[at]; k != nil && !k.reading {
			delete(d.known, at)
		}
	}
}
