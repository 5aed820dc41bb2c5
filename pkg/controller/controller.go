package controller

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/rancher/helm-locker/pkg/admit"
	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/claims"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/proof"
	"github.com/rancher/helm-locker/pkg/reading"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/settled"
	"github.com/rancher/helm-locker/pkg/watch"
	"github.com/rancher/helm-locker/pkg/witness"
)

// Controller keeps releases locked. It only connects its workers.
type Controller struct {
	*common
	definitions *watch.Definitions

	releases    *releases
	relist      *relist
	observer    *observer
	ownership   *ownership
	remediation *remediation
	prover      *prover
	pruning     *pruning
	statuses    *statuses
	admission   *admit.Admission
	witness     *witness.Witness

	ready chan struct{}
	warm  chan struct{} // closed once the releases present at the start are locked
}

// New returns a controller; nothing runs before Run. It registers its handlers on the HelmRelease controller, so call
// it before that controller starts.
func New(ctx context.Context, clients Clients, o Options) (*Controller, error) {
	schemas, err := drift.NewSchemas()
	if err != nil {
		return nil, fmt.Errorf("list semantics of the built-in kinds: %w", err)
	}
	shared := newCommon(clients, o)
	c := &Controller{common: shared, ready: make(chan struct{}), warm: make(chan struct{})}
	records := reading.New(shared.kinds, shared.slots.large, o.Clock)
	loader := &loader{common: shared, reader: records, schemas: schemas, budget: newBudget()}
	reporter := newReporter(shared)
	secrets := clients.Kubernetes.CoreV1().Secrets(o.Namespace)
	remembered := settled.New(settled.Options{Secrets: secrets, Name: shared.own.SettledName, Clock: o.Clock,
		Log: o.Log})
	hasher, writer := drift.NewHasher(), &writer{common: shared}
	trusted := &trusted{common: shared, store: &witness.Store{Secrets: secrets, Name: shared.own.TrustName,
		Clock: o.Clock, Log: o.Log}}
	c.observer = &observer{common: shared, hasher: hasher}
	c.ownership = &ownership{common: shared, loader: loader}
	c.ownership.others = &claims.Others{Metadata: clients.Metadata, Storages: o.Storages,
		Proof:     proof.New(proof.Options{Metadata: clients.Metadata, Storages: o.Storages, Log: o.Log}),
		StorageOf: shared.entries.storageOf, Read: loader.declaredBy, Known: &c.ownership.declared, Log: o.Log}
	c.prover = &prover{common: shared, loader: loader, reporter: reporter, writer: writer,
		trusted: trusted}
	c.remediation = &remediation{
		common: shared, budget: loader.budget, ownership: c.ownership,
		reader:   &reader{common: shared, hasher: hasher},
		comparer: &comparer{common: shared, reporter: reporter, memory: remembered},
		reverter: &reverter{common: shared, budget: loader.budget, reporter: reporter, writer: writer, hasher: hasher},
	}
	c.relist = newRelist(shared, c.observer)
	c.releases = &releases{
		common: shared, loader: loader, reporter: reporter, memory: remembered, relist: c.relist,
		claims: &c.ownership.claims, rights: &rights{common: shared}, trusted: trusted,
		claimer: &claimer{common: shared, behind: map[string][]string{}},
	}
	c.pruning = &pruning{
		common: shared, loader: loader, reporter: reporter, writer: writer, trusted: trusted,
		pace: flowcontrol.NewTokenBucketRateLimiter(historyReadsPerSecond, historyReadsAtOnce),
	}
	c.statuses = &statuses{common: shared, reporter: reporter, memory: remembered}
	c.watchCluster()
	c.answerRequests(trusted.store, reporter)

	clients.HelmReleases.Cache().AddIndexer(byRelease, func(hr *v1alpha1.HelmRelease) ([]string, error) {
		return []string{hr.Spec.Release.String()}, nil
	})
	handler := func(key string, hr *v1alpha1.HelmRelease) (*v1alpha1.HelmRelease, error) {
		c.releases.helmReleaseChanged(key, hr)
		return hr, nil
	}
	clients.HelmReleases.OnChange(ctx, "helm-locker", handler)
	return c, nil
}

// answerRequests creates the answers to the API server's questions about requests.
func (c *Controller) answerRequests(store *witness.Store, rep *reporter) {
	o, loader := c.Options, c.releases.loader
	c.admission = admit.New(admit.Options{
		Kinds: &c.lockedKinds, Inputs: c.inputs, Others: c.ownership.others,
		Metadata: c.clients.Metadata, DryRunner: c.enforcer, Spend: loader.budget.spend,
		StillAsked: c.stillAsked, Denied: rep.denied, Clock: o.Clock, Log: o.Log, Metrics: o.Metrics,
	})
	c.witness = witness.New(witness.Options{
		Kubernetes: c.clients.Kubernetes, Metadata: c.clients.Metadata, Kinds: c.kinds, Reader: loader.reader,
		Store: store, Holder: c.releases.claimer.holder, NeverWriters: o.NeverWriters,
		Clock: o.Clock, Log: o.Log, Metrics: o.Metrics,
	})
}

// watchCluster creates the watches, with their events for the workers, and the enforcer with its watch.
func (c *Controller) watchCluster() {
	fence := types.NamespacedName{Namespace: c.Namespace, Name: c.own.Fence}
	c.records = watch.NewReleases(c.clients.WatchMetadata, c.Storages, fence, c.Log, c.recordChanged)
	verifier := proof.New(proof.Options{
		Metadata: c.clients.Metadata, Storages: c.Storages, Fence: fence, Secrets: c.clients.Kubernetes.CoreV1(),
		Records: c.records, ListsReadStorage: c.clients.ListsReadStorage, Log: c.Log,
	})
	c.enforcer = enforce.New(c.kinds.Discovery(), c.clients.Dynamic, c.clients.Accounts, verifier, c.Log)
	c.objects = watch.NewObjects(c.clients.WatchObjects, c.observer, c.Log)
	c.definitions = watch.NewDefinitions(c.clients.WatchMetadata, c.Log, c.definitionChanged)
	c.inputs.Scalers = watch.NewAutoscalers(c.clients.WatchDynamic, c.definitions, c.Log, c.rangesChanged)
}

// recordChanged notifies the workers of a change of the records of a release.
func (c *Controller) recordChanged(key release.Key) {
	c.releases.recordChanged(key)
	c.confirmLater(key)
	c.ownership.recordChanged(key)
}

// definitionChanged notifies the workers of a change of a CustomResourceDefinition.
func (c *Controller) definitionChanged(crd *metav1.PartialObjectMetadata) {
	c.releases.definitionChanged(crd)
	c.inputs.Scalers.DefinitionsChanged()
}

// Run works until ctx ends, and returns after the end of all its goroutines. The HelmRelease cache must be synced.
func (c *Controller) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	last, cancel := outlast(ctx) // for the remaining proofs
	defer cancel()
	group.Go(func() error { c.records.Run(ctx); return nil })
	group.Go(func() error { c.definitions.Run(ctx); return nil })
	group.Go(func() error {
		<-ctx.Done()
		c.queues.shutDown()
		return nil
	})
	select {
	case <-c.records.Synced():
	case <-ctx.Done():
		return c.stop(last, group)
	}
	keys, err := c.enqueueAll()
	if err != nil {
		return fmt.Errorf("list HelmReleases: %w", err)
	}
	c.inputs.Scalers.Start(ctx)
	c.releases.start.wait(keys, func() {
		c.objects.Start(ctx)
		close(c.warm)
	})
	group.Go(func() error { c.releases.startAnyway(ctx); return nil })
	group.Go(func() error { c.relist.run(ctx, c.releases.toReconcile); return nil })
	serve(group, c.queues.releases, func(key string) { c.releases.next(ctx, key) })
	serve(group, c.queues.drift, func(key string) { c.remediation.next(ctx, key) })
	serve(group, c.queues.confirm, func(key release.Key) { c.prover.next(last, key) })
	serve(group, c.queues.pruning, func(key string) { c.pruning.next(ctx, key) })
	for range statusWorkers {
		group.Go(func() error {
			for c.statuses.next(ctx) {
			}
			return nil
		})
	}
	close(c.ready)
	c.Log.Infof("managing %s in namespace %s%s", plain.Count(len(keys), "HelmRelease"), c.Namespace, c.ofShard())
	return c.stop(last, group)
}

// stop returns after the end of all work, and the proof of the last writes.
func (c *Controller) stop(last context.Context, group *errgroup.Group) error {
	err := group.Wait()
	c.ownership.readings.Wait()
	c.prover.last(last)
	c.objects.Wait()
	c.inputs.Scalers.Wait()
	c.enforcer.Close()
	c.ownership.others.Proof.Close()
	return err
}

// Ready is closed once the records of all releases are known and work has begun.
func (c *Controller) Ready() <-chan struct{} { return c.ready }

// RecordsError returns the error of reading the release records now; nil when they are readable.
func (c *Controller) RecordsError() error { return c.records.Err() }

// Lead lets the controller write. Before, it only watches and judges, and so can act at once.
func (c *Controller) Lead() {
	c.leading.Store(true)
	if _, err := c.enqueueAll(); err != nil {
		c.Log.Errorf("list HelmReleases: %v", err)
	}
	for _, l := range c.table.Locks() {
		l.Resume()
		c.queues.drift.Add(l.Key)
		c.queues.pruning.Add(l.Key)
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
		c.queues.releases.Add(key)
	}
	return keys, nil
}
