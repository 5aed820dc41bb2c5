package controller

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
	"github.com/rancher/helm-locker/pkg/reading"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/rules"
	"github.com/rancher/helm-locker/pkg/status"
	"github.com/rancher/helm-locker/pkg/watch"
)

// loaded is a revision, read and parsed into objects to lock.
type loaded struct {
	release *release.Release
	// writer is the field manager in the record; empty when unknown.
	writer  string
	objects []*lock.Object
	kinds   map[schema.GroupVersionKind]watch.Kind
	waiting map[schema.GroupVersionKind][]manifest.ID
	skipped []manifest.Skipped
	// exceptions are the parts of the manifest left to others; untracked are its objects without a lock.
	exceptions []v1alpha1.Exception
	untracked  map[manifest.ID]struct{}
	// ignore are the compiled rules of the spec.
	ignore *rules.Rules
	// denials are the objects outside the rights of the release's account.
	denials status.Denials
	judged
	// strict is set in scope Strict. scalable is set when the release has an object with replicas for an autoscaler to
	// set.
	strict, scalable bool
	// schemas are the schemas to compare objects of these kinds.
	schemas map[schema.GroupVersionKind]drift.Schema
	// definitions is the number of changed definitions before the load.
	definitions int
}

// loader reads records and parses their manifests into objects, for all workers.
type loader struct {
	*common
	reader      *reading.Reader
	schemas     *drift.Schemas
	definitions definitions
	budget      *budget
}

// marks reports whether the objects of a release get ObjectSet metadata: what is only compared is never written.
func (lo *loader) marks(spec v1alpha1.HelmReleaseSpec) bool {
	return lo.ObjectSetMetadata && spec.Mode != v1alpha1.ModeDetect
}

// load reads the payload of a record and parses its manifest into objects. An obstacle for the user to remove is
// returned as a problem; an error means to try again. Objects get ObjectSet metadata if marked is set.
func (lo *loader) load(
	ctx context.Context, rec release.Record, spec v1alpha1.HelmReleaseSpec, marked bool,
) (*loaded, status.Problem, error) {
	ignore, err := rules.Compile(spec.Ignore)
	if err != nil {
		// A user has to fix it; another attempt does not help.
		return nil, status.Problem{Reason: v1alpha1.ReasonInvalidRule,
			Message: strings.ReplaceAll(err.Error(), "\n", "; ")}, nil
	}
	var out *loaded
	definitions := lo.definitions.changesSoFar()
	prob, err := lo.read(ctx, rec, func(found *contents) error {
		plan := found.Plan(lo.own, ignore)
		out = &loaded{
			release: found.release, writer: found.writer, skipped: found.Skipped,
			strict: spec.Scope == v1alpha1.ScopeStrict, ignore: ignore,
			exceptions: plan.Exceptions, kinds: map[schema.GroupVersionKind]watch.Kind{},
			waiting: map[schema.GroupVersionKind][]manifest.ID{}, untracked: map[manifest.ID]struct{}{},
			definitions: definitions, schemas: map[schema.GroupVersionKind]drift.Schema{},
		}
		for _, o := range found.Unknown {
			out.waiting[o.GVK] = append(out.waiting[o.GVK], o.ID)
		}
		for _, id := range found.UnknownIDs() {
			out.untracked[id] = struct{}{}
		}
		for _, e := range plan.Exempt {
			out.untracked[e.Object.ID] = struct{}{}
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
func (lo *loader) addObject(ctx context.Context, out *loaded, o *judge.Object, rel release.Key) error {
	kind, err := lo.kinds.Get(o.GVK)
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
		out.scalable = true // for the range of a live autoscaler
	}
	shared := lo.lockedKinds.Share(lock.Kind{GVK: o.GVK, GVR: kind.GVR, Namespaced: kind.Namespaced, Schema: compared})
	out.kinds[o.GVK] = kind
	out.objects = append(out.objects, &lock.Object{
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
