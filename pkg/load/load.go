// Package load reads release records and parses their manifests into objects to lock.
package load

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/sirupsen/logrus"

	"github.com/rancher/helm-locker/pkg/apierror"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/classic"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/ledger"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/reading"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/rules"
	"github.com/rancher/helm-locker/pkg/shares"
	"github.com/rancher/helm-locker/pkg/status"
	"github.com/rancher/helm-locker/pkg/watch"
)

// Revision is a revision, read and parsed into objects to lock.
type Revision struct {
	Release *release.Release
	// Writer is the field manager in the record; empty when unknown.
	Writer  string
	Objects []*lock.Object
	Kinds   map[schema.GroupVersionKind]watch.Kind
	// Waiting are the objects of kinds that are not served.
	Waiting map[schema.GroupVersionKind][]manifest.ID
	// Skipped are the parts of the manifest that cannot be locked.
	Skipped []manifest.Skipped
	// Exceptions are the parts of the manifest left to others; Untracked are its objects without a lock.
	Exceptions []v1alpha1.Exception
	Untracked  map[manifest.ID]struct{}
	// Ignore are the compiled rules of the spec.
	Ignore *rules.Rules
	// Scalable is set when the release has an object with replicas for an autoscaler to set.
	Scalable bool

	// strict is set in scope Strict.
	strict bool
	// schemas are the schemas to compare objects of these kinds.
	schemas map[schema.GroupVersionKind]drift.Schema
	// definitions is the number of changed definitions before the load.
	definitions int
}

// Options configure a Loader.
type Options struct {
	Kubernetes kubernetes.Interface
	Dynamic    dynamic.Interface
	Kinds      *watch.Kinds
	// LockedKinds are the kinds of all objects ever locked.
	LockedKinds *lock.Kinds
	Records     *watch.Releases
	Ledger      *ledger.Ledger
	Slots       *shares.Slots
	Budget      *shares.Budget
	// Own are the objects of the operator itself.
	Own judge.Own
	// ObjectSetMetadata declares wrangler's ObjectSet labels and annotations.
	ObjectSetMetadata bool

	Clock clock.PassiveClock
	Log   logrus.FieldLogger
}

// Loader reads records and parses their manifests into objects, for all workers. It is safe for concurrent use.
type Loader struct {
	Options
	// Reader bounds the memory for large records.
	Reader      *reading.Reader
	schemas     *drift.Schemas
	definitions definitions
}

// New returns a Loader.
func New(o Options) (*Loader, error) {
	schemas, err := drift.NewSchemas()
	if err != nil {
		return nil, fmt.Errorf("list semantics of the built-in kinds: %w", err)
	}
	return &Loader{Options: o, Reader: reading.New(o.Kinds, o.Slots.Large, o.Clock), schemas: schemas}, nil
}

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

// OtherVersions returns the served versions of kinds with an unserved declared version.
func (rev *Revision) OtherVersions(versions func(schema.GroupKind) []string) map[schema.GroupKind][]string {
	served := map[schema.GroupKind][]string{}
	for gvk := range rev.Waiting {
		served[gvk.GroupKind()] = versions(gvk.GroupKind())
	}
	return served
}

// IsCurrent reports whether no definition has changed since before the load of a revision.
func (lo *Loader) IsCurrent(rev *Revision) bool {
	return lo.definitions.changesSoFar() == rev.definitions
}
