package policies

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	helmcontrollers "github.com/rancher/helm-locker/pkg/generated/controllers/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/watch"
)

// reportedPolicy is the last reported state of a policy.
type reportedPolicy struct {
	uid     types.UID
	status  v1alpha1.HelmReleasePolicyStatus
	written time.Time
}

const (
	// policyDelay coalesces the events before a plan.
	policyDelay = 100 * time.Millisecond
	// policyEffort is the pause after a plan, as a multiple of the time of the plan: any number of a tenant's releases
	// takes a share of a processor at most.
	policyEffort = 10
	// policyRetry is the time between two tries to start the watch of policies.
	policyRetry = 5 * time.Second
	// policyWrites bounds how many HelmReleases are written at the same time.
	policyWrites = 8
	// thePlan is the only key of the queue: all policies are planned together, because each limits the others.
	thePlan = "policies"
)

// clients are the connections to the API server.
type clients struct {
	helmReleases helmcontrollers.HelmReleaseController
	policies     helmcontrollers.HelmReleasePolicyController
	// start starts the caches of both, and returns when they are filled. It is called when the API server serves the
	// kinds.
	start func(context.Context) error
}

// worker keeps the HelmReleases of HelmReleasePolicies. It gathers the input of package policy, and carries the plan
// out. Its fields, but for active, leading and ready, are used by one goroutine.
type worker struct {
	Options
	clients
	events     record.EventRecorder
	metrics    *policyMetrics
	queue      workqueue.TypedRateLimitingInterface[string] // has one key, thePlan
	records    *watch.Releases
	labels     releaseLabels
	namespaces namespaces
	ownWrites  ownWrites
	// leading is set while this replica may write.
	leading atomic.Bool
	// active is set while there are policies; without any nothing is planned.
	active atomic.Bool
	// notBefore is when the next plan may be made.
	notBefore    time.Time
	lastReported map[string]reportedPolicy // by policy name
	// served are closed when the API server serves HelmReleases and policies.
	served map[string]*served
	// ready is closed when the policies are followed.
	ready chan struct{}
}

// served is closed once.
type served struct {
	sync.Once
	done chan struct{}
}

// newWorker returns the worker of the given clients. watches reads the metadata of records and namespaces.
func newWorker(o Options, c clients, watches metadata.Interface, m *policyMetrics) *worker {
	w := &worker{
		Options: o, clients: c, metrics: m, lastReported: map[string]reportedPolicy{}, ready: make(chan struct{}),
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Minute),
			workqueue.TypedRateLimitingQueueConfig[string]{
				Name: "policy", Clock: o.Clock, MetricsProvider: m.Queues(),
			}),
		served: map[string]*served{releasesDefinition: {done: make(chan struct{})},
			policiesDefinition: {done: make(chan struct{})}},
	}
	noFences := types.NamespacedName{} // they are the operator's
	w.records = watch.NewReleases(watches, o.storages, noFences, o.Log, func(release.Key) { w.changed() })
	w.labels.follow(w.records, w.changed)
	w.namespaces = namespaces{client: watches, log: o.Log, changed: w.changed}
	return w
}

// The CustomResourceDefinitions of this module.
var (
	releasesDefinition = v1alpha1.Resource(v1alpha1.HelmReleaseResourceName).String()
	policiesDefinition = v1alpha1.Resource(v1alpha1.PolicyResourceName).String()
)

// lead starts or ends this replica's writes.
func (w *worker) lead(leads bool) {
	w.leading.Store(leads)
	w.changed()
}

// changed has the policies planned soon.
func (w *worker) changed() {
	if w.active.Load() {
		w.queue.AddAfter(thePlan, policyDelay)
	}
}

// policyChanged is called for a created, changed or deleted policy.
func (w *worker) policyChanged(
	key string, p *v1alpha1.HelmReleasePolicy,
) (*v1alpha1.HelmReleasePolicy, error) {
	if p == nil {
		w.ownWrites.policies.gone(nameOf(key))
	}
	w.active.Store(true)
	w.changed()
	return p, nil
}

// helmReleaseChanged is called for a created, changed or deleted HelmRelease.
func (w *worker) helmReleaseChanged(key string, hr *v1alpha1.HelmRelease) (*v1alpha1.HelmRelease, error) {
	if hr == nil {
		w.ownWrites.releases.gone(nameOf(key))
	}
	w.changed()
	return hr, nil
}

// nameOf returns the name in the key of an object.
func nameOf(key string) string { return key[strings.LastIndex(key, "/")+1:] }

// definitionChanged is called for each CustomResourceDefinition.
func (w *worker) definitionChanged(crd *metav1.PartialObjectMetadata) {
	s, ours := w.served[crd.Name]
	if !ours {
		return
	}
	s.Do(func() { close(s.done) })
	w.ownWrites.tryAgain()
	w.changed()
}

// startCaches fills the caches as soon as the CustomResourceDefinitions exist, which the operator installs. It
// retries when the API server refuses.
func (w *worker) startCaches(ctx context.Context) {
	for _, s := range w.served {
		select {
		case <-s.done:
		case <-ctx.Done():
			return
		}
	}
	for {
		err := w.start(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		w.Log.Warnf("watch HelmReleasePolicies: %v; trying again", err)
		select {
		case <-w.Clock.After(policyRetry):
		case <-ctx.Done():
			return
		}
	}
}
