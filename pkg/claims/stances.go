package claims

import (
	"context"
	"slices"

	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/metadata"

	"github.com/rancher/helm-locker/pkg/apierror"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/proof"
	"github.com/rancher/helm-locker/pkg/release"
)

// Others reads the records of other releases than the locked one. It is safe for concurrent use.
type Others struct {
	Metadata metadata.Interface
	Storages []release.Storage
	Proof    *proof.Verifier
	// StorageOf returns the release with the records of a release, if those are known to be in another namespace; zero
	// for none.
	StorageOf func(release.Key) release.Key
	// Read reads the declarations of a record, and Known has those that are read.
	Read  func(context.Context, release.Record) (*Declaration, error)
	Known *Declarations
	Log   logrus.FieldLogger
}

// AtWork returns the releases with Helm at work among those with records in some namespaces.
func (o *Others) AtWork(ctx context.Context, namespaces []string) (working []release.Key, err error) {
	for _, namespace := range namespaces {
		for _, storage := range o.Storages {
			found, err := proof.AtWork(ctx, o.Metadata, storage, namespace)
			if err != nil && !apierrors.IsForbidden(err) { // unreadable records prove nothing
				return nil, err
			}
			working = append(working, found...)
		}
	}
	return working, nil
}

// Stance is the relation of a release to an object.
type Stance int

const (
	// DeclaresNot is the stance of a release that does not exist, or has no readable record of the object.
	DeclaresNot Stance = iota
	// HelmRests is the stance of a release that declares the object.
	HelmRests
	// HelmWorks is the stance of a release that declares or declared the object, while Helm may be changing it.
	HelmWorks
)

// Declares returns the stance of a release to an object. Objects name the namespace of their release. If it has no
// records there, they may be stored in another namespace.
func (o *Others) Declares(ctx context.Context, key release.Key, id manifest.ID) (Stance, error) {
	found, exists, err := o.DeclaresIn(ctx, key, key, id)
	if err != nil || exists {
		return found, err
	}
	places, err := o.elsewhere(ctx, key)
	if err != nil {
		return DeclaresNot, err
	}
	for _, place := range places {
		stands, _, err := o.DeclaresIn(ctx, place, key, id)
		if err != nil {
			return DeclaresNot, err
		}
		found = max(found, stands)
		if found == HelmWorks {
			break
		}
	}
	return found, nil
}

// elsewhere returns the possible places of the records of a release without any in its own namespace: the one named by
// a HelmRelease, or else every release of the same name. Those with Helm at work come first, because the time may not
// suffice for all.
func (o *Others) elsewhere(ctx context.Context, key release.Key) ([]release.Key, error) {
	if locked := o.StorageOf(key); locked != (release.Key{}) {
		return []release.Key{locked}, nil
	}
	records, err := o.Proof.Elsewhere(ctx, key)
	if err != nil {
		return nil, err
	}
	var working, others []release.Key
	for _, rec := range records {
		if release.Transitioning(rec.Status) {
			working = append(working, rec.Key)
		} else {
			others = append(others, rec.Key)
		}
	}
	return append(working, others...), nil
}

// DeclaresIn returns the stance of the records stored under the release stored to an object that names the release
// named. The zero Key stands for any release. exists is set if a release of these records exists.
func (o *Others) DeclaresIn(
	ctx context.Context, stored, named release.Key, id manifest.ID,
) (stands Stance, exists bool, err error) {
	for _, storage := range o.Storages {
		records, err := proof.Records(ctx, o.Metadata, storage, stored)
		switch {
		case proof.OwnsNothing(err):
			return DeclaresNot, true, nil
		case err != nil:
			return DeclaresNot, false, err
		}
		// Each storage counts for itself: Helm reads one of them.
		for _, newest := range release.NewestOfEach(records) {
			exists = true
			stands = max(stands, o.stanceOf(ctx, records, newest, named, id))
		}
	}
	return stands, exists, nil
}

// stanceOf returns the stance of the records of a release in one storage, of which newest is the newest.
func (o *Others) stanceOf(
	ctx context.Context, records []release.Record, newest release.Record, named release.Key, id manifest.ID,
) Stance {
	works := release.Transitioning(newest.Status)
	declared := o.inRecord(ctx, newest, named, id)
	switch {
	case declared && works:
		return HelmWorks
	case declared:
		return HelmRests
	case !works:
		return DeclaresNot
	}
	// Helm deletes the objects of the previously deployed revision, except for the objects of the newest one.
	if before, found := deployedBefore(records, newest); found && o.inRecord(ctx, before, named, id) {
		return HelmWorks
	}
	return DeclaresNot
}

// deployedBefore returns the base of Helm's comparison with the newest record: the deployed record, or else the last.
func deployedBefore(records []release.Record, newest release.Record) (release.Record, bool) {
	earlier := slices.DeleteFunc(slices.Clone(records), func(r release.Record) bool { return r.Same(newest) })
	deployed := slices.DeleteFunc(slices.Clone(earlier), func(r release.Record) bool {
		return r.Status != release.StatusDeployed
	})
	if len(deployed) > 0 {
		earlier = deployed
	}
	return release.Newest(earlier)
}

// inRecord reports whether a record declares an object with the name of a release. A record not readable in time proves
// nothing. It is read beside the request, because decoding a large one does not end with ctx.
func (o *Others) inRecord(
	ctx context.Context, rec release.Record, named release.Key, id manifest.ID,
) bool {
	if known := o.Known.Knows(rec); known != nil {
		return known.Owns(named, id)
	}
	read := make(chan *Declaration, 1)
	go func() {
		found, err := o.Read(ctx, rec)
		if err != nil {
			o.Log.WithField("release", rec.Key.String()).Debugf("guard: read %s: %s", rec.Object(), apierror.Safe(err))
			found = NoDeclaration(rec)
		} else {
			o.Known.Put(found)
		}
		read <- found
	}()
	select {
	case found := <-read:
		return found.Owns(named, id)
	case <-ctx.Done():
		return false
	}
}

// Owners returns the newest records of the releases that an object can mean by a name and a namespace. A release with
// records in that namespace comes first. Second comes the locked release, if its records are in another namespace.
// Third come all releases of the name with a payload for the namespace: a tenant with write access to the records of
// one namespace must not speak for the releases of another. The caller checks the namespace in the payload, and the
// declaration of the object.
//
// A release with records in two storages has two: Helm may have written the object by either of them, and a record that
// does not declare it proves nothing.
func (o *Others) Owners(ctx context.Context, v *proof.Verifier, other release.Key) ([]release.Record, error) {
	for _, stored := range []release.Key{other, o.StorageOf(other)} {
		if stored == (release.Key{}) {
			continue
		}
		records, err := v.NewestOfEach(ctx, stored)
		switch {
		case proof.OwnsNothing(err):
			return nil, nil
		case err != nil || len(records) > 0:
			return records, err
		}
	}
	return v.Elsewhere(ctx, other)
}
