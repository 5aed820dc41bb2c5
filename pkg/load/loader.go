package load

import (
	"fmt"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/ledger"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/reading"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/rules"
	"github.com/rancher/helm-locker/pkg/shares"
	"github.com/rancher/helm-locker/pkg/watch"
)

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

// OtherVersions returns the served versions of kinds with an unserved declared version.
func (rev *Revision) OtherVersions(versions func(schema.GroupKind) []string) map[schema.GroupKind][]string {
	served := map[schema.GroupKind][]string{}
	for gvk := range rev.Waiting {
		served[gvk.GroupKind()] = versions(gvk.GroupKind())
	}
	return served
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
