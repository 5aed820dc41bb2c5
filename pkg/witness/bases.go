package witness

import (
	"context"
	"errors"
	"fmt"

	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/proof"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/trust"
)

// bases returns the objects of the revisions to compare a record with: the newest trusted deployed one, and another
// trusted one that Helm deploys now. A record that does not exist as it was trusted declares nothing. Neither does any
// if a revision in between was not witnessed, or if the record was not deployed by Helm: Helm deploys a new record, or
// one that is pending. compared is false if the deployed one declares nothing for such a reason.
func (h *hearing) bases(
	ctx context.Context, s *trust.State, rec trust.Record, before, after *stored,
) (bases [][]trust.Object, compared bool) {
	fromHelm := before == nil || before.Status == release.StatusDeployed || before.Status.IsPending()
	if !fromHelm || !s.Follows(rec.Revision, before == nil) {
		return [][]trust.Object{nil}, false
	}
	deployed, compared := h.base(ctx, s.Trusted, after)
	bases = append(bases, deployed)
	if s.Next != nil && (s.Next.UID != rec.UID || s.Next.Digest != rec.Digest) {
		next, _ := h.base(ctx, s.Next, after)
		bases = append(bases, next)
	}
	return bases, compared
}

// base returns the objects of a known record, and whether the record exists as it was trusted.
func (h *hearing) base(ctx context.Context, known *trust.Record, after *stored) ([]trust.Object, bool) {
	if known == nil {
		return nil, false
	}
	s := &stored{Record: release.Record{Key: after.Key, Storage: after.Storage, Revision: known.Revision,
		ObjectName: release.ObjectName(after.Key.Name, known.Revision)}}
	meta, payload, err := proof.Payload(ctx, h.Kubernetes, s.Record)
	if err != nil || meta.UID != known.UID {
		return nil, false
	}
	if s.Record, err = after.Storage.RecordOf(meta); err != nil {
		return nil, false
	}
	s.payload = payload
	rel, err := h.decode(ctx, s)
	if err != nil || trust.Digest(after.Key.Namespace, rel) != known.Digest {
		return nil, false
	}
	objects, err := h.objects(rel, s.Record)
	return objects, err == nil
}

// objects returns the declared objects of a record. It returns an error if a kind is not served, as its rights are
// unknown then. A digest stands for the same objects in every record, and parsing them takes most of a judgement.
func (h *hearing) objects(rel *release.Release, rec release.Record) ([]trust.Object, error) {
	digest := trust.Digest(rec.Key.Namespace, rel)
	if known, ok := h.parsed.Get(digest); ok {
		return known.([]trust.Object), nil //nolint:forcetypeassert // nothing else is added
	}
	found, prob, err := h.Reader.Parse(rel, rec)
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
		if objects[i], err = h.object(&found.Objects[i]); err != nil {
			return nil, err
		}
	}
	if len(objects) <= maxParsedObjects {
		h.parsed.Add(digest, objects)
	}
	return objects, nil
}

func (h *hearing) object(o *manifest.Object) (trust.Object, error) {
	kind, err := h.Kinds.Get(o.GVK)
	if err != nil {
		return trust.Object{}, err
	}
	return trust.ObjectOf(o, kind.GVR.GroupResource())
}
