package controller

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/proof"
	"github.com/rancher/helm-locker/pkg/release"
)

// An object may have to do with another release than the one that is locked: Helm takes it over for that release, it
// belongs to that release already, or that release declared it before it was taken over, and Helm deletes it with that
// release. Metadata that anyone can write proves none of these. A record that declares the object does.

// claimsTimeout bounds the reading of the records of other releases. What is not known by then counts as not declared:
// who makes a record that takes long to read has proven nothing.
const claimsTimeout = time.Second

// ofAnother returns why a request passes because of another release than the locked one; empty when it does not. The
// newest record of the locked release has to be read before.
func (ad *admission) ofAnother(ctx context.Context, q *question) judge.AdmissionReason {
	ctx, cancel := context.WithTimeoutCause(ctx, claimsTimeout, errClaimsTimeout)
	defer cancel()
	owner := q.ClaimedBefore()
	asked := []release.Key{{}, q.Release, q.Locked}
	for _, claimant := range []release.Key{owner, q.Claims()} {
		if slices.Contains(asked, claimant) {
			continue
		}
		asked = append(asked, claimant)
		found, err := ad.declares(ctx, claimant, q.ID)
		switch {
		case err != nil:
			return ad.unknown(ctx, q, err)
		case found == helmWorks:
			return judge.AdmitHelm
		case found == helmRests && claimant == owner:
			return judge.AdmitOtherRelease
		}
	}
	if q.After != nil {
		return ""
	}
	working, err := ad.releasesAtWork(ctx, q)
	if err != nil {
		return ad.unknown(ctx, q, err)
	}
	for _, stored := range working {
		if slices.Contains([]release.Key{q.Release, q.Locked}, stored) {
			continue
		}
		switch found, _, err := ad.declaresIn(ctx, stored, release.Key{}, q.ID); {
		case err != nil:
			return ad.unknown(ctx, q, err)
		case found == helmWorks:
			return judge.AdmitHelm
		}
	}
	return ""
}

var errClaimsTimeout = errors.New("the records of other releases take too long to read")

// unknown returns why a request passes about which the API server could not be asked.
func (ad *admission) unknown(ctx context.Context, q *question, err error) judge.AdmissionReason {
	ad.Log.WithField("object", q.ID.String()).Debugf("guard: read the records of other releases: %s", safeError(err))
	if errors.Is(context.Cause(ctx), errClaimsTimeout) {
		return ""
	}
	return judge.AdmitUnknown
}

// releasesAtWork returns the releases that Helm works on, of those with records in the namespace of the object or of
// the locked release.
func (ad *admission) releasesAtWork(ctx context.Context, q *question) (working []release.Key, err error) {
	namespaces := []string{q.Locked.Namespace}
	if q.ID.Namespace != "" && q.ID.Namespace != q.Locked.Namespace {
		namespaces = append(namespaces, q.ID.Namespace)
	}
	for _, namespace := range namespaces {
		for _, storage := range ad.Storages {
			found, err := proof.AtWork(ctx, ad.clients.Metadata, storage, namespace)
			if err != nil && !apierrors.IsForbidden(err) { // records that are out of sight prove nothing
				return nil, err
			}
			working = append(working, found...)
		}
	}
	return working, nil
}

// stance is how a release stands to an object.
type stance int

const (
	// declaresNot is the stance of a release that does not exist, or has no readable record that declares the object.
	declaresNot stance = iota
	// helmRests is the stance of a release that declares the object.
	helmRests
	// helmWorks is the stance of a release that declares the object, or did, and that Helm may be changing.
	helmWorks
)

// declares returns how a release stands to an object. Objects name the namespace of their release; where that has no
// records, they may be stored in another one.
func (ad *admission) declares(ctx context.Context, key release.Key, id manifest.ID) (stance, error) {
	found, exists, err := ad.declaresIn(ctx, key, key, id)
	if err != nil || exists {
		return found, err
	}
	places, err := ad.elsewhere(ctx, key)
	if err != nil {
		return declaresNot, err
	}
	for _, place := range places {
		stands, _, err := ad.declaresIn(ctx, place, key, id)
		if err != nil {
			return declaresNot, err
		}
		found = max(found, stands)
		if found == helmWorks {
			break
		}
	}
	return found, nil
}

// elsewhere returns where the records of a release may be stored that has none in its own namespace: the place that a
// HelmRelease names, or else each where there is a release of that name. Those that Helm works on come first, because
// not all may be read in time.
func (ad *admission) elsewhere(ctx context.Context, key release.Key) ([]release.Key, error) {
	if locked := ad.entries.storedElsewhere(key); locked != (release.Key{}) {
		return []release.Key{locked}, nil
	}
	records, err := ad.proof.Elsewhere(ctx, key)
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

// declaresIn returns how the records that are stored as those of one release stand to an object which names another,
// the same, or with the zero Key any. exists is set if there is a release of these records.
func (ad *admission) declaresIn(
	ctx context.Context, stored, named release.Key, id manifest.ID,
) (stands stance, exists bool, err error) {
	var records []release.Record
	for _, storage := range ad.Storages {
		found, err := proof.Records(ctx, ad.clients.Metadata, storage, stored)
		switch {
		case proof.OwnsNothing(err):
			return declaresNot, true, nil
		case err != nil:
			return declaresNot, false, err
		}
		records = append(records, found...)
	}
	newest, found := release.Newest(records)
	if !found || newest.Status == release.StatusUninstalled {
		return declaresNot, false, nil
	}
	works := newest.Contested || release.Transitioning(newest.Status)
	declared := ad.inRecord(ctx, newest, named, id)
	switch {
	case declared && works:
		return helmWorks, true, nil
	case declared:
		return helmRests, true, nil
	case !works:
		return declaresNot, true, nil
	}
	// Helm deletes the objects of the revision that was deployed before, and that the newest one does not declare.
	if before, found := deployedBefore(records, newest); found && ad.inRecord(ctx, before, named, id) {
		return helmWorks, true, nil
	}
	return declaresNot, true, nil
}

// deployedBefore returns the record that Helm compares the newest one with: the deployed one, or else the last.
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

// inRecord reports whether a record declares an object that names a release. One that cannot be read in time proves
// nothing. It is read beside the request, because decoding a large one does not end with ctx.
func (ad *admission) inRecord(
	ctx context.Context, rec release.Record, named release.Key, id manifest.ID,
) bool {
	if known := ad.declared.knows(rec); known != nil {
		return known.owns(named, id)
	}
	read := make(chan *declaration, 1)
	go func() {
		found, err := ad.loader.declaredBy(ctx, rec)
		if err != nil {
			ad.debug(rec.Key).Debugf("guard: read %s: %s", rec.Object(), safeError(err))
			found = &declaration{record: rec}
		} else {
			ad.declared.put(found)
		}
		read <- found
	}()
	select {
	case found := <-read:
		return found.owns(named, id)
	case <-ctx.Done():
		return false
	}
}
