// Package load reads release records and parses their manifests into objects to lock.
package load

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/apierror"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/classic"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/rules"
	"github.com/rancher/helm-locker/pkg/status"
	"github.com/rancher/helm-locker/pkg/watch"
)

// Marks reports whether the objects of a release get ObjectSet metadata: what is only compared is never written.
func (lo *Loader) Marks(spec v1alpha1.HelmReleaseSpec) bool {
	return lo.ObjectSetMetadata && spec.Mode != v1alpha1.ModeDetect
}

// Load reads the payload of a record and parses its manifest into objects. An obstacle for the user to remove is
// returned as a problem; an error means to try again. Objects get ObjectSet metadata if marked is set.
func (lo *Loader) Load(
	ctx context.Context, rec release.Record, spec v1alpha1.HelmReleaseSpec, marked bool,
) (*Revision, status.Problem, error) {
	ignore, err := rules.Compile(spec.Ignore)
	if err != nil {
		// A user has to fix it; another attempt does not help.
		return nil, status.Problem{Reason: v1alpha1.ReasonInvalidRule,
			Message: strings.ReplaceAll(err.Error(), "\n", "; ")}, nil
	}
	var out *Revision
	definitions := lo.definitions.changesSoFar()
	prob, err := lo.Read(ctx, rec, func(found *Contents) error {
		plan := found.Plan(lo.Own, ignore)
		out = &Revision{
			Release: found.Release, Writer: found.Writer, Skipped: found.Skipped,
			strict: spec.Scope == v1alpha1.ScopeStrict, Ignore: ignore,
			Exceptions: plan.Exceptions, Kinds: map[schema.GroupVersionKind]watch.Kind{},
			Waiting: map[schema.GroupVersionKind][]manifest.ID{}, Untracked: map[manifest.ID]struct{}{},
			definitions: definitions, schemas: map[schema.GroupVersionKind]drift.Schema{},
		}
		for _, o := range found.Unknown {
			out.Waiting[o.GVK] = append(out.Waiting[o.GVK], o.ID)
		}
		for _, id := range found.UnknownIDs() {
			out.Untracked[id] = struct{}{}
		}
		for _, e := range plan.Exempt {
			out.Untracked[e.Object.ID] = struct{}{}
		}
		for i := range plan.Objects {
			if marked {
				if err := classic.Declare(plan.Objects[i].Content, rec.Key); err != nil {
					return err
				}
			}
			if err := lo.addObject(ctx, out, &plan.Objects[i], rec.Key); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && prob.Reason == "" {
		prob = status.Problemf(v1alpha1.ReasonLocking, "revision %d cannot be loaded yet: %s", rec.Revision,
			apierror.Safe(err))
	}
	if err != nil || prob.Reason != "" {
		return nil, prob, err
	}
	return out, status.Problem{}, nil
}

// addObject adds an object to lock to the loaded release.
func (lo *Loader) addObject(ctx context.Context, out *Revision, o *judge.Object, rel release.Key) error {
	kind, err := lo.Kinds.Get(o.GVK)
	if err != nil {
		return err
	}
	desired, err := json.Marshal(o.Content)
	if err != nil {
		return fmt.Errorf("encode %s: %w", o.ID, err)
	}
	var blank []byte
	if len(o.Blank) > 0 {
		if blank, err = json.Marshal(o.Blank); err != nil {
			return fmt.Errorf("encode the nulls of %s: %w", o.ID, err)
		}
	}
	compared, known := out.schemas[o.GVK]
	if !known {
		if compared, err = lo.schemaOf(ctx, o.GVK, kind.GVR.Resource); err != nil {
			return err
		}
		out.schemas[o.GVK] = compared
	}
	scalable := judge.Scalable(o.Content, compared)
	if o.Replicas != nil || scalable || out.strict && judge.HasReplicas(o.ID) {
		out.Scalable = true // for the range of a live autoscaler
	}
	shared := lo.LockedKinds.Share(lock.Kind{GVK: o.GVK, GVR: kind.GVR, Namespaced: kind.Namespaced, Schema: compared})
	out.Kinds[o.GVK] = kind
	out.Objects = append(out.Objects, &lock.Object{
		ID: sharing(o.ID, shared, rel), Kind: shared, Desired: lock.Pack(desired), Blank: lock.Pack(blank),
		Keep: o.Keep, Replicas: o.Replicas, Scalable: scalable, Rules: o.Rules,
	})
	return nil
}

// sharing returns an equal identity with the strings of its kind and its release, instead of copies of them.
func sharing(id manifest.ID, kind *lock.Kind, rel release.Key) manifest.ID {
	id.Group, id.Kind = kind.GVK.Group, kind.GVK.Kind
	if id.Namespace == rel.Namespace {
		id.Namespace = rel.Namespace
	}
	return id
}
