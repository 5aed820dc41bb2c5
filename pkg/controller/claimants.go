package controller

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rancher/helm-locker/pkg/apierror"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/proof"
	"github.com/rancher/helm-locker/pkg/release"
)

// An object may belong to another release than the locked one in three ways. Helm takes it over for the other release.
// Or it is an object of the other release already. Or the other release declared it before a takeover, and Helm deletes
// it with the other release. Metadata proves none of these, because anyone can write it. A record that declares the
// object does.

// claimsTimeout bounds the reads of the records of other releases. Unread records count as not declaring the object:
// the author of a slow record has proven nothing.
const claimsTimeout = time.Second

// ofAnother returns the reason to pass a request because of a release other than the locked one; empty for none. Read
// the newest record of the locked release before the call.
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

// unknown returns the reason to pass a request after a failed question to the API server.
func (ad *admission) unknown(ctx context.Context, q *question, err error) judge.AdmissionReason {
	ad.Log.WithField("object", q.ID.String()).Debugf("guard: read the records of other releases: %s",
		apierror.Safe(err))
	if errors.Is(context.Cause(ctx), errClaimsTimeout) {
		return ""
	}
	return judge.AdmitUnknown
}

// releasesAtWork returns the releases with Helm at work, among those with records in the namespace of the object or of
// the locked release.
func (ad *admission) releasesAtWork(ctx context.Context, q *question) (working []release.Key, err error) {
	namespaces := []string{q.Locked.Namespace}
	if q.ID.Namespace != "" && q.ID.Namespace != q.Locked.Namespace {
		namespaces = append(namespaces, q.ID.Namespace)
	}
	for _, namespace := range namespaces {
		for _, storage := range ad.Storages {
			found, err := proof.AtWork(ctx, ad.clients.Metadata, storage, namespace)
			if err != nil && !apierrors.IsForbidden(err) { // unreadable records prove nothing
				return nil, err
			}
			working = append(working, found...)
		}
	}
	return working, nil
}

// stance is the relation of a release to an object.
type stance int

const (
	// declaresNot is the stance of a release that does not exist, or has no readable record of the object.
	declaresNot stance = iota
	// helmRests is the stance of a release that declares the object.
	helmRests
	// helmWorks is the stance of a release that declares or declared the object, while Helm may be changing it.
	helmWorks
)

// declares returns the stance of a release to an object. Objects name the namespace of their release. If it has no
// records there, they may be stored in another namespace.
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

// elsewhere returns the possible places of the records of a release without any in its own namespace: the one named by
// a HelmRelease, or else every release of the same name. Those with Helm at work come first, because the time may not
// suffice for all.
func (ad *admission) elsewhere(ctx context.Context, key release.Key) ([]release.Key, error) {
	if locked := ad.entries.storageOf(key); locked != (release.Key{}) {
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

// declaresIn returns the stance of the records stored under the release stored to an object that names the release
// named. The zero Key stands for any release. exists is set if a release of these records exists.
func (ad *admission) declaresIn(
	ctx context.Context, stored, named release.Key, id manifest.ID,
) (stands stance, exists bool, err error) {
	for _, storage := range ad.Storages {
		records, err := proof.Records(ctx, ad.clients.Metadata, storage, stored)
		switch {
		case proof.OwnsNothing(err):
			return declaresNot, true, nil
		case err != nil:
			return declaresNot, false, err
		}
		// Each storage counts for itself: Helm reads one of them.
		for _, newest := range release.NewestOfEach(records) {
			exists = true
			stands = max(stands, ad.stanceOf(ctx, records, newest, named, id))
		}
	}
	return stands, exists, nil
}

// stanceOf returns the stance of the records of a release in one storage, of which newest is the newest.
func (ad *admission) stanceOf(
	ctx context.Context, records []release.Record, newest release.Record, named release.Key, id manifest.ID,
) stance {
	works := release.Transitioning(newest.Status)
	declared := ad.inRecord(ctx, newest, named, id)
	switch {
	case declared && works:
		return helmWorks
	case declared:
		return helmRests
	case !works:
		return declaresNot
	}
	// Helm deletes the objects of the previously deployed revision, except for the objects of the newest one.
	if before, found := deployedBefore(records, newest); found && ad.inRecord(ctx, before, named, id) {
		return helmWorks
	}
	return declaresNot
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
			ad.debug(rec.Key).Debugf("guard: read %s: %s", rec.Object(), apierror.Safe(err))
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
