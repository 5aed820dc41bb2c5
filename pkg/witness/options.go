package witness

import (
	"github.com/sirupsen/logrus"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/metrics"
	"github.com/rancher/helm-locker/pkg/reading"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/watch"
)

// Options configure a Witness.
type Options struct {
	Kubernetes kubernetes.Interface
	Metadata   metadata.Interface
	Kinds      *watch.Kinds
	Reader     *reading.Reader
	Store      *Store
	// Holder returns the HelmRelease that locks a release; nil for none.
	Holder func(release.Key) *v1alpha1.HelmRelease
	// NeverWriters are users whose writes make no record trusted.
	NeverWriters []v1alpha1.GuardSubject

	Clock   clock.PassiveClock
	Log     logrus.FieldLogger
	Metrics *metrics.Metrics
}

// Witness judges the writes of release records by the rights of their writers. The API server waits for it, and it
// never refuses. A write without a judgement in time is not trusted by its writer. It is safe for concurrent use.
type Witness struct {
	Options
	// parsed are the objects of the records that were judged last, by digest.
	parsed *lru.Cache
}

// New returns a witness.
func New(o Options) *Witness { return &Witness{Options: o, parsed: lru.New(parsedRecords)} }

// parsedRecords of up to maxParsedObjects objects are kept: two megabytes at most.
const parsedRecords, maxParsedObjects = 32, 250
