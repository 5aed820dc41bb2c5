package controller

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/accounts"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/enforce"
	helmcontrollers "github.com/rancher/helm-locker/pkg/generated/controllers/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/metrics"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/watch"
)

// Clients are the connections to the API server. Requests have time limits, watches have none, so they are separate.
type Clients struct {
	Kubernetes    kubernetes.Interface
	Discovery     discovery.DiscoveryInterface
	Dynamic       dynamic.Interface
	Metadata      metadata.Interface
	Accounts      *enforce.Accounts
	WatchDynamic  dynamic.Interface
	WatchObjects  *watch.Client
	WatchMetadata metadata.Interface
	HelmReleases  helmcontrollers.HelmReleaseController
	// ListsReadStorage says what consistent lists cost (see enforce.ListsReadStorage).
	ListsReadStorage bool
}

// Options configure a Controller.
type Options struct {
	// Namespace is where HelmReleases are looked after; those elsewhere are ignored.
	Namespace string
	// Name is the controller name that claims HelmReleases.
	Name string
	// Shard selects, by their labels, the HelmReleases to look after; nil for all.
	Shard labels.Selector
	// ObjectSetMetadata writes wrangler's ObjectSet labels and annotations on objects that are put back.
	ObjectSetMetadata bool
	// Accounts says in whose name the objects of a release are written.
	Accounts accounts.Policy

	Clock   clock.WithTicker
	Log     logrus.FieldLogger
	Metrics *metrics.Metrics
	Events  record.EventRecorder
	// Notify is told what events tell, for people and programs outside the cluster; nil for nobody.
	Notify Notifier
}

const (
	statusWorkers = 2

	// statusDelay coalesces status writes: a burst of reverts ends in one.
	statusDelay = 250 * time.Millisecond
	// lockingPatience is how long a new lock may take to read its objects before the status says that it does: most
	// take less, also when they wait for others (sweepPatience), and need one write of the status instead of two.
	lockingPatience = 20 * time.Second

	// eventsPerSecond and eventBurst bound the events about drift, over all releases.
	eventsPerSecond = 2
	eventBurst      = 50
)

// Controller keeps releases locked.
type Controller struct {
	Options
	clients     Clients
	kinds       *watch.Kinds
	releases    *watch.Releases
	objects     *watch.Objects
	crds        *watch.Definitions
	scalers     *watch.Autoscalers
	enforcer    *enforce.Enforcer
	table       *lock.Table
	own         lock.Own
	schemas     *drift.Schemas
	definitions definitions
	shared      lock.Kinds
	hasher      drift.Hasher

	releaseQueue workqueue.TypedRateLimitingInterface[string]
	driftQueue   workqueue.TypedDelayingInterface[string]
	statusQueue  workqueue.TypedRateLimitingInterface[string]
	// leftoverQueue holds the releases of which earlier revisions are to be looked at; behind is its pace.
	leftoverQueue workqueue.TypedRateLimitingInterface[string]
	behind        flowcontrol.RateLimiter
	// unproven are the writes around which Helm may have begun to work; confirmQueue holds the releases of which
	// that is to be found out.
	unproven     lock.Writes
	confirmQueue workqueue.TypedRateLimitingInterface[release.Key]
	// readings are under way to find out what other releases declare.
	readings sync.WaitGroup

	slots       slots
	budget      readingBudget
	claims      claims
	changes     changes
	declared    declarations
	eventBudget flowcontrol.PassiveRateLimiter
	// announcements are events that can wait.
	announcements announcements

	start   gathering
	sweeps  *sweeps
	leading atomic.Bool
	// definitionsAt is when a CustomResourceDefinition last came, changed or went, in Unix nanoseconds.
	definitionsAt atomic.Int64
	ready         chan struct{}

	mu      sync.Mutex
	entries map[string]*entry // by HelmRelease key
	told    map[string]told   // by HelmRelease key, of those whose status this process has written
	// elsewhere are the releases that HelmReleases in other shards name, by HelmRelease key.
	elsewhere map[string]release.Key
}

// New returns a controller; nothing runs before Run. It registers its handlers on the HelmRelease controller, so it
// must be called before that one is started.
func New(ctx context.Context, clients Clients, o Options) (*Controller, error) {
	schemas, err := drift.NewSchemas()
	if err != nil {
		return nil, fmt.Errorf("list semantics of the built-in kinds: %w", err)
	}
	c := &Controller{
		Options: o, clients: clients,
		kinds: watch.NewKinds(clients.Discovery),
		table: lock.NewTable(), schemas: schemas, hasher: drift.NewHasher(),
		releaseQueue: retryQueue[string](o, "release", 100*time.Millisecond, time.Minute),
		driftQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{
			Name: "drift", Clock: o.Clock, MetricsProvider: o.Metrics.Queues(),
		}),
		statusQueue:   retryQueue[string](o, "status", time.Second, time.Minute),
		leftoverQueue: retryQueue[string](o, "leftover", 5*time.Second, 5*time.Minute),
		confirmQueue:  retryQueue[release.Key](o, "confirm", 100*time.Millisecond, time.Minute),
		behind:        flowcontrol.NewTokenBucketRateLimiter(historyReadsPerSecond, historyReadsAtOnce),
		slots:         newSlots(),
		eventBudget:   flowcontrol.NewTokenBucketPassiveRateLimiter(eventsPerSecond, eventBurst),
		ready:         make(chan struct{}),
		sweeps:        newSweeps(),
		entries:       map[string]*entry{}, told: map[string]told{}, elsewhere: map[string]release.Key{},
	}
	mark := types.NamespacedName{Namespace: o.Namespace, Name: o.Name + enforce.MarkSuffix}
	c.own = lock.Own{Namespace: o.Namespace, Name: o.Name, Fence: mark.Name}
	c.releases = watch.NewReleases(clients.WatchMetadata, mark, o.Log, c.recordChanged)
	c.enforcer = enforce.New(enforce.Clients{
		Discovery: c.kinds.Discovery(), Dynamic: clients.Dynamic, Metadata: clients.Metadata,
		Accounts: clients.Accounts,
		Mark:     mark, Secrets: clients.Kubernetes.CoreV1(), Records: c.releases,
		ListsReadStorage: clients.ListsReadStorage,
	}, o.Log)
	c.objects = watch.NewObjects(clients.WatchObjects, c, o.Log)
	c.crds = watch.NewDefinitions(clients.WatchMetadata, o.Log, c.definitionChanged)
	c.scalers = watch.NewAutoscalers(clients.WatchDynamic, o.Log, c.rangesChanged)

	clients.HelmReleases.Cache().AddIndexer(byRelease, func(hr *v1alpha1.HelmRelease) ([]string, error) {
		return []string{hr.Spec.Release.String()}, nil
	})
	handler := func(key string, hr *v1alpha1.HelmRelease) (*v1alpha1.HelmRelease, error) {
		c.helmReleaseChanged(key, hr)
		return hr, nil
	}
	clients.HelmReleases.OnChange(ctx, "helm-locker", handler)
	return c, nil
}

const byRelease = "helm-locker/release"

// Run works until ctx ends, then returns once every goroutine has. The HelmRelease cache must be synced.
func (c *Controller) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { c.releases.Run(ctx); return nil })
	group.Go(func() error { c.crds.Run(ctx); return nil })
	group.Go(func() error {
		<-ctx.Done()
		c.releaseQueue.ShutDown()
		c.driftQueue.ShutDown()
		c.statusQueue.ShutDown()
		c.leftoverQueue.ShutDown()
		c.confirmQueue.ShutDown()
		return nil
	})
	select {
	case <-c.releases.Synced():
	case <-ctx.Done():
		return c.stop(group)
	}
	keys, err := c.enqueueAll()
	if err != nil {
		return fmt.Errorf("list HelmReleases: %w", err)
	}
	c.scalers.Start(ctx)
	c.start.wait(keys, func() { c.objects.Start(ctx) })
	group.Go(func() error { c.startAnyway(ctx); return nil })
	serve(group, c.releaseQueue, func(key string) { c.nextRelease(ctx, key) })
	serve(group, c.driftQueue, func(key string) { c.nextDrift(ctx, key) })
	serve(group, c.leftoverQueue, func(key string) { c.nextLeftover(ctx, key) })
	work(group, statusWorkers, func() bool { return c.nextStatus(ctx) })
	serve(group, c.confirmQueue, func(key release.Key) { c.nextConfirm(ctx, key) })
	group.Go(func() error { c.runSweeps(ctx); return nil })
	close(c.ready)
	c.Log.Infof("looking after %s in namespace %s%s", count(len(keys), "HelmRelease"), c.Namespace, c.ofShard())
	return c.stop(group)
}

func (c *Controller) stop(group *errgroup.Group) error {
	err := group.Wait()
	c.readings.Wait()
	c.objects.Wait()
	c.scalers.Wait()
	c.enforcer.Close()
	return err
}

// Ready is closed once the records of all releases are known and work has begun.
func (c *Controller) Ready() <-chan struct{} { return c.ready }

// RecordsError returns why the release records cannot be read now; nil when they can.
func (c *Controller) RecordsError() error { return c.releases.Err() }

// Lead lets the controller write. Until then it watches and judges, so that it can act at once.
func (c *Controller) Lead() {
	c.leading.Store(true)
	if _, err := c.enqueueAll(); err != nil {
		c.Log.Errorf("list HelmReleases: %v", err)
	}
	for _, l := range c.table.Locks() {
		l.Resume()
		c.driftQueue.Add(l.Key)
		c.leftoverQueue.Add(l.Key)
	}
	for _, key := range c.unproven.Releases() {
		c.confirmQueue.Add(key)
	}
}

// Unlead stops the controller from writing.
func (c *Controller) Unlead() { c.leading.Store(false) }

func (c *Controller) enqueueAll() ([]string, error) {
	all, err := c.clients.HelmReleases.Cache().List(c.Namespace, everything)
	if err != nil {
		return nil, err
	}
	keys := make([]string, 0, len(all))
	for _, hr := range all {
		if !c.inShard(hr) {
			continue
		}
		key := keyOf(hr)
		keys = append(keys, key)
		c.releaseQueue.Add(key)
	}
	return keys, nil
}

// enqueueRelease enqueues the HelmReleases that name a release.
func (c *Controller) enqueueRelease(key release.Key) {
	named, err := c.clients.HelmReleases.Cache().GetByIndex(byRelease, key.String())
	if err != nil {
		c.Log.Errorf("look up the HelmReleases of release %s: %v", key, err)
		return
	}
	for _, hr := range named {
		c.releaseQueue.Add(keyOf(hr))
	}
}

// helmReleaseChanged enqueues a HelmRelease and every other one for the same release: the first keeps the release,
// so all have to know when one comes or goes.
func (c *Controller) helmReleaseChanged(key string, hr *v1alpha1.HelmRelease) {
	c.releaseQueue.Add(key)
	if hr != nil {
		c.rememberElsewhere(key, hr)
		c.enqueueRelease(releaseKey(hr))
		return
	}
	if e := c.entry(key); e != nil {
		c.enqueueRelease(e.release)
	}
	if rel, ok := c.forgetElsewhere(key); ok {
		c.enqueueRelease(rel)
	}
}

func releaseKey(hr *v1alpha1.HelmRelease) release.Key {
	return release.Key{Namespace: hr.Spec.Release.Namespace, Name: hr.Spec.Release.Name}
}
