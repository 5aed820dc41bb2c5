package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/pkg/apierror"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/guard"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/proof"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/trust"
)

// witness judges the writes of release records by the rights of their writers. The API server waits for it, and it
// never refuses. A write without a judgement in time is not trusted by its writer.
type witness struct {
	*common
	reading reading
	claimer *claimer
	trusted *trusted
}

// Witness records whether the writer of a release record may carry out the record. Every request passes.
func (c *Controller) Witness(ctx context.Context, r *admissionv1.AdmissionRequest) guard.Decision {
	wi := &witness{common: c.common, reading: reading{loader: c.releases.loader}, claimer: c.releases.claimer,
		trusted: c.releases.trusted}
	defer wi.reading.end()
	begun := wi.Clock.Now()
	result, err := wi.see(ctx, r)
	if err != nil {
		wi.Log.WithField("object", r.Namespace+"/"+r.Name).Warnf("the write of a record is not judged: %s",
			apierror.Safe(err))
		result = "Unwitnessed"
	}
	wi.Metrics.Guarded("witnessed", result, wi.Clock.Since(begun))
	return guard.Decision{}
}

// see judges one request, and stores the result before it returns it.
func (wi *witness) see(ctx context.Context, r *admissionv1.AdmissionRequest) (string, error) {
	if r.DryRun != nil && *r.DryRun {
		return "DryRun", nil
	}
	// A malformed old record is like none: every lock waits until it is well-formed.
	before, err := storedOf(r, r.OldObject.Raw)
	if err != nil {
		before = nil
	}
	after, err := storedOf(r, r.Object.Raw)
	switch {
	case err != nil && before == nil:
		return "", err
	case err != nil:
		after = nil // without its labels, a record is out of sight as after its deletion
	case after == nil && before == nil:
		return "Malformed", nil
	}
	hr := wi.holder(cmp.Or(after, before).Key)
	if hr == nil {
		return "NotLocked", nil
	}
	if after == nil || after.Status != release.StatusDeployed && !after.Status.IsPending() {
		return wi.ended(ctx, r, hr, before, after)
	}
	if before == nil {
		exists, err := wi.exists(ctx, after.Record)
		if err != nil || exists {
			return "Exists", err
		}
	}
	if err := wi.begun(ctx, r, hr, before, after); err != nil {
		return "", err
	}
	same, err := wi.sameContent(ctx, before, after)
	if err != nil || same {
		return "Unchanged", err
	}
	return wi.judge(ctx, r, hr, before, after)
}

// begun records that Helm begins with a record, or that a user changes one that Helm has begun with. It comes before
// the judgement, because that may take too long: any user may write a record that does.
func (wi *witness) begun(
	ctx context.Context, r *admissionv1.AdmissionRequest, hr *v1alpha1.HelmRelease, before, after *stored,
) error {
	wasPending := before != nil && before.Status.IsPending()
	if !wasPending && !after.Status.IsPending() || wasPending && before.equals(after) {
		return nil
	}
	return wi.trusted.change(ctx, hr, func(s *trust.State) (bool, error) {
		if wasPending {
			return s.TakeOver(before.UID, writerOf(r)), nil
		}
		s.Begin(after.UID, writerOf(r))
		return true, nil
	})
}

// writerOf returns the user of a request, in a printable form.
func writerOf(r *admissionv1.AdmissionRequest) string {
	return plain.Cut(plain.Line(r.UserInfo.Username), v1alpha1.MaxUserBytes)
}

// holder returns the HelmRelease that locks a release; nil for none.
func (wi *witness) holder(key release.Key) *v1alpha1.HelmRelease {
	for _, hr := range wi.named(key) {
		if hr.Namespace == wi.Namespace && wi.claimable(hr) && wi.claimer.owner(hr) == nil {
			return hr
		}
	}
	return nil
}

// exists reports whether a record exists, so that the API server is about to refuse its creation.
func (wi *witness) exists(ctx context.Context, rec release.Record) (bool, error) {
	_, err := wi.clients.Metadata.Resource(rec.Storage.GVR()).Namespace(rec.Key.Namespace).
		Get(ctx, rec.ObjectName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// judge decides on the difference that a write makes.
func (wi *witness) judge(
	ctx context.Context, r *admissionv1.AdmissionRequest, hr *v1alpha1.HelmRelease, before, after *stored,
) (result string, err error) {
	rel, err := wi.decode(ctx, after)
	if err != nil {
		return "", err
	}
	rec := trust.Record{UID: after.UID, Revision: after.Revision, Digest: trust.Digest(after.Key.Namespace, rel),
		Replace: hr.Spec.ReplaceImmutable, Reason: v1alpha1.TrustWitnessed, Time: wi.trusted.now(), Writer: writerOf(r)}
	by := judge.Requester{User: r.UserInfo.Username, Groups: r.UserInfo.Groups}
	deployed := func(s *trust.State) {
		if after.Status == release.StatusDeployed {
			s.Deployed(rec, by, hr.Spec.ExpectedWriters)
		}
	}
	if len(hr.Spec.ExpectedWriters) > 0 { // before the rights, which may not be known in time
		if err := wi.trusted.change(ctx, hr, func(s *trust.State) (bool, error) {
			deployed(s)
			return true, nil
		}); err != nil {
			return "", err
		}
	}
	if by.IsOneOf(wi.NeverWriters) {
		return "NeverWriter", wi.trusted.change(ctx, hr, func(s *trust.State) (bool, error) {
			s.Refuse(trust.Refusal{Record: rec})
			deployed(s)
			return true, nil
		})
	}
	declared, err := wi.objects(rel, after.Record)
	if err != nil {
		return "", err
	}
	err = wi.trusted.change(ctx, hr, func(s *trust.State) (bool, error) {
		bases, compared := wi.bases(ctx, s, rec, before, after)
		missing, err := wi.lacks(ctx, r.UserInfo, declared, bases, rec.Replace)
		switch {
		case err != nil:
			return false, err
		case missing == nil && !compared && after.Status == release.StatusDeployed:
			s.Start(rec)
			result = "Trusted"
		default:
			result = recordDecision(s, rec, missing, after.Status)
		}
		// A refused revision may have been deployed: a role takes fewer rights of Helm than of a record.
		if before == nil && missing == nil {
			s.Witness(rec.Revision)
		}
		deployed(s)
		return true, nil
	})
	return result, err
}

// recordDecision records the decision about a record in the state, and returns it.
func recordDecision(s *trust.State, rec trust.Record, missing *trust.Right, status release.Status) string {
	switch {
	case missing != nil:
		s.Refuse(trust.Refusal{Record: rec, Missing: missing})
		return "Refused"
	case status == release.StatusDeployed:
		s.Trust(rec)
	default:
		s.Next = &rec
	}
	return "Trusted"
}

// bases returns the objects of the revisions to compare a record with: the newest trusted deployed one, and another
// trusted one that Helm deploys now. A record that does not exist as it was trusted declares nothing. Neither does any
// if a revision in between was not witnessed, or if the record was not deployed by Helm: Helm deploys a new record, or
// one that is pending. compared is false if the deployed one declares nothing for such a reason.
func (wi *witness) bases(
	ctx context.Context, s *trust.State, rec trust.Record, before, after *stored,
) (bases [][]trust.Object, compared bool) {
	fromHelm := before == nil || before.Status == release.StatusDeployed || before.Status.IsPending()
	if !fromHelm || !s.Follows(rec.Revision, before == nil) {
		return [][]trust.Object{nil}, false
	}
	deployed, compared := wi.base(ctx, s.Trusted, after)
	bases = append(bases, deployed)
	if s.Next != nil && (s.Next.UID != rec.UID || s.Next.Digest != rec.Digest) {
		next, _ := wi.base(ctx, s.Next, after)
		bases = append(bases, next)
	}
	return bases, compared
}

// base returns the objects of a known record, and whether the record exists as it was trusted.
func (wi *witness) base(ctx context.Context, known *trust.Record, after *stored) ([]trust.Object, bool) {
	if known == nil {
		return nil, false
	}
	s := &stored{Record: release.Record{Key: after.Key, Storage: after.Storage, Revision: known.Revision,
		ObjectName: release.ObjectName(after.Key.Name, known.Revision)}}
	meta, payload, err := proof.Payload(ctx, wi.clients.Kubernetes, s.Record)
	if err != nil || meta.UID != known.UID {
		return nil, false
	}
	if s.Record, err = after.Storage.RecordOf(meta); err != nil {
		return nil, false
	}
	s.payload = payload
	rel, err := wi.decode(ctx, s)
	if err != nil || trust.Digest(after.Key.Namespace, rel) != known.Digest {
		return nil, false
	}
	objects, err := wi.objects(rel, s.Record)
	return objects, err == nil
}

// objects returns the declared objects of a record. It returns an error if a kind is not served, as its rights are
// unknown then. A digest stands for the same objects in every record, and parsing them takes most of a judgement.
func (wi *witness) objects(rel *release.Release, rec release.Record) ([]trust.Object, error) {
	digest := trust.Digest(rec.Key.Namespace, rel)
	if known, ok := wi.trusted.parsed.Get(digest); ok {
		return known.([]trust.Object), nil //nolint:forcetypeassert // nothing else is added
	}
	found, prob, err := wi.reading.parse(rel, rec)
	switch {
	case err != nil:
		return nil, err
	case prob.Reason != "":
		return nil, errors.New(prob.Message)
	case len(found.Unknown) > 0:
		return nil, fmt.Errorf("kind %s is not served", found.Unknown[0].GVK.Kind)
	}
	objects := make([]trust.Object, len(found.Objects))
	for i := range found.Objects {
		if objects[i], err = wi.object(&found.Objects[i]); err != nil {
			return nil, err
		}
	}
	if len(objects) <= maxParsedObjects {
		wi.trusted.parsed.Add(digest, objects)
	}
	return objects, nil
}

func (wi *witness) object(o *manifest.Object) (trust.Object, error) {
	kind, err := wi.kinds.Get(o.GVK)
	if err != nil {
		return trust.Object{}, err
	}
	return trust.ObjectOf(o, kind.GVR.GroupResource())
}
