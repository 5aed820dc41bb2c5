package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/accounts"
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
	loader  *loader
	claimer *claimer
	trusted *trusted
	slot    func() // releases the slot for a large record; nil without one
}

// Witness records whether the writer of a release record may carry out the record. Every request passes.
func (c *Controller) Witness(ctx context.Context, r *admissionv1.AdmissionRequest) guard.Decision {
	wi := &witness{common: c.common, loader: c.releases.loader, claimer: c.releases.claimer,
		trusted: c.releases.trusted}
	defer func() {
		if wi.slot != nil {
			wi.slot()
		}
	}()
	begun := wi.Clock.Now()
	result, err := wi.see(ctx, r)
	if err != nil {
		wi.Log.WithField("object", r.Namespace+"/"+r.Name).Warnf("the write of a record is not judged: %s",
			safeError(err))
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
	case err != nil:
		return "", err
	case after == nil && before == nil:
		return "Malformed", nil
	}
	seen := after
	if after == nil {
		seen = before
	}
	hr := wi.holder(seen.Key)
	if hr == nil {
		return "NotLocked", nil
	}
	if after == nil || after.Status == release.StatusUninstalling || after.Status == release.StatusUninstalled {
		return wi.ended(ctx, r, hr, seen)
	}
	if after.Status != release.StatusDeployed && !after.Status.IsPending() {
		return "NotDeployed", nil
	}
	if before == nil {
		exists, err := wi.exists(ctx, after.Record)
		if err != nil || exists {
			return "Exists", err
		}
	}
	same, err := wi.sameContent(ctx, before, after)
	if err != nil || same {
		return "Unchanged", err
	}
	return wi.judge(ctx, r, hr, after)
}

// holder returns the HelmRelease that locks a release; nil for none.
func (wi *witness) holder(key release.Key) *v1alpha1.HelmRelease {
	named, err := wi.clients.HelmReleases.Cache().GetByIndex(byRelease, key.String())
	if err != nil {
		wi.Log.Errorf("look up the HelmReleases of release %s: %v", key, err)
		return nil
	}
	for _, hr := range named {
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
	ctx context.Context, r *admissionv1.AdmissionRequest, hr *v1alpha1.HelmRelease, after *stored,
) (string, error) {
	rel, err := wi.decode(ctx, after)
	if err != nil {
		return "", err
	}
	state, _, err := wi.trusted.of(ctx, hr.UID)
	if err != nil {
		return "", err
	}
	rec := trust.Record{UID: after.UID, Revision: after.Revision, Digest: trust.Digest(after.Key.Namespace, rel),
		Replace: hr.Spec.ReplaceImmutable, Reason: v1alpha1.TrustWitnessed, Time: wi.trusted.now(),
		Writer: plain.Cut(plain.Line(r.UserInfo.Username), v1alpha1.MaxUserBytes)}
	if by := (judge.Requester{User: r.UserInfo.Username, Groups: r.UserInfo.Groups}); by.IsOneOf(wi.NeverWriters) {
		return "NeverWriter", wi.refuse(ctx, hr, rec, nil)
	}
	declared, err := wi.objects(rel, after.Record)
	if err != nil {
		return "", err
	}
	for _, base := range wi.bases(ctx, state, after) {
		rights, doubt := trust.Rights(base, declared, rec.Replace)
		if doubt != "" {
			return "", errors.New(doubt)
		}
		missing, err := wi.missing(ctx, r.UserInfo, rights)
		if err != nil {
			return "", err
		}
		if missing != nil {
			return "Refused", wi.refuse(ctx, hr, rec, missing)
		}
	}
	return "Trusted", wi.trusted.change(ctx, hr, func(s *trust.State) bool {
		if after.Status == release.StatusDeployed {
			s.Trust(rec)
		} else {
			s.Next = &rec
		}
		return true
	})
}

// refuse records that the writer of a record lacks a right, or, for nil, makes no record trusted.
func (wi *witness) refuse(ctx context.Context, hr *v1alpha1.HelmRelease, rec trust.Record, missing *trust.Right) error {
	rec.Reason = v1alpha1.TrustRefused
	return wi.trusted.change(ctx, hr, func(s *trust.State) bool {
		s.Refused = &trust.Refusal{Record: rec, Missing: missing}
		return true
	})
}

// bases returns the objects of the revisions to compare a record with: the newest trusted deployed one, and another
// trusted one that Helm deploys now. A record that does not exist as it was trusted declares nothing, and neither does
// one that Helm deploys unwitnessed.
func (wi *witness) bases(ctx context.Context, state *trust.State, after *stored) [][]trust.Object {
	bases := [][]trust.Object{wi.base(ctx, state.Trusted, after)}
	if state.Next != nil && state.Next.UID != after.UID {
		bases = append(bases, wi.base(ctx, state.Next, after))
	}
	for _, rec := range wi.records.Before(after.Record) {
		if release.Transitioning(rec.Status) && (state.Next == nil || state.Next.UID != rec.UID) {
			return append(bases, nil)
		}
	}
	return bases
}

func (wi *witness) base(ctx context.Context, known *trust.Record, after *stored) []trust.Object {
	if known == nil {
		return nil
	}
	s := &stored{Record: release.Record{Key: after.Key, Storage: after.Storage, Revision: known.Revision,
		ObjectName: release.ObjectName(after.Key.Name, known.Revision)}}
	meta, payload, err := proof.Payload(ctx, wi.clients.Kubernetes, s.Record)
	if err != nil || meta.UID != known.UID {
		return nil
	}
	if s.Record, err = after.Storage.RecordOf(meta); err != nil {
		return nil
	}
	s.payload = payload
	rel, err := wi.decode(ctx, s)
	if err != nil || trust.Digest(after.Key.Namespace, rel) != known.Digest {
		return nil
	}
	objects, err := wi.objects(rel, s.Record)
	if err != nil {
		return nil
	}
	return objects
}

// objects returns the declared objects of a record. It returns an error if a kind is not served, as its rights are
// unknown then.
func (wi *witness) objects(rel *release.Release, rec release.Record) ([]trust.Object, error) {
	found, prob, err := wi.loader.parse(rel, rec)
	switch {
	case err != nil:
		return nil, err
	case prob.reason != "":
		return nil, errors.New(prob.message)
	case len(found.Unknown) > 0:
		return nil, fmt.Errorf("kind %s is not served", found.Unknown[0].GVK.Kind)
	}
	objects := make([]trust.Object, len(found.Objects))
	for i := range found.Objects {
		if objects[i], err = wi.object(&found.Objects[i]); err != nil {
			return nil, err
		}
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

// missing returns the first right that a user lacks; nil for none.
func (wi *witness) missing(
	ctx context.Context, user authenticationv1.UserInfo, rights []trust.Right,
) (*trust.Right, error) {
	for len(rights) > 0 {
		verb := rights[0].Verb
		of := slices.DeleteFunc(slices.Clone(rights), func(r trust.Right) bool { return r.Verb != verb })
		rights = slices.DeleteFunc(rights, func(r trust.Right) bool { return r.Verb == verb })
		objects := make([]accounts.Object, len(of))
		for i, r := range of {
			objects[i] = accounts.Object{GVR: schema.GroupVersionResource{Group: r.Group, Resource: r.Resource},
				Namespace: r.Namespace, Name: r.Name}
		}
		allowed, err := accounts.Rights(ctx, objects, func(ctx context.Context, o accounts.Object) (bool, error) {
			return wi.may(ctx, user, verb, o)
		})
		if err != nil {
			return nil, err
		}
		if i := slices.Index(allowed, false); i >= 0 {
			return &of[i], nil
		}
	}
	return nil, nil
}

// may asks the API server's authorizer about one right of the writer.
func (wi *witness) may(
	ctx context.Context, user authenticationv1.UserInfo, verb string, o accounts.Object,
) (bool, error) {
	resource, subresource, _ := strings.Cut(o.GVR.Resource, "/")
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for key, values := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(values)
	}
	review, err := wi.clients.Kubernetes.AuthorizationV1().SubjectAccessReviews().Create(ctx,
		&authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user.Username, Groups: user.Groups, UID: user.UID, Extra: extra,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: verb, Group: o.GVR.Group, Version: "*", Resource: resource, Subresource: subresource,
				Namespace: o.Namespace, Name: o.Name,
			},
		}}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask for the rights of the writer: %w", err)
	}
	return review.Status.Allowed, nil
}
