package controller

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/pkg/admit"
	"github.com/rancher/helm-locker/pkg/claims"
	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/ledger"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/locking"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/plain"
	"github.com/rancher/helm-locker/pkg/proving"
	"github.com/rancher/helm-locker/pkg/prune"
	"github.com/rancher/helm-locker/pkg/queues"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/remediate"
	"github.com/rancher/helm-locker/pkg/reporting"
	"github.com/rancher/helm-locker/pkg/roster"
	"github.com/rancher/helm-locker/pkg/watch"
	"github.com/rancher/helm-locker/pkg/witness"
	"github.com/rancher/helm-locker/pkg/writing"
)

// statusWorkers is the number of statuses that are written concurrently.
const statusWorkers = 2

// Controller keeps releases locked. It only connects the workers: each asks another one for work by adding a key to its
// queue.
type Controller struct {
	options Options
	// leading is set while this controller may write.
	leading *atomic.Bool

	ledger  *ledger.Ledger
	table   *lock.Table
	roster  *roster.Roster
	queues  *queues.Queues
	views   *reporting.Views
	others  *claims.Others
	scalers *watch.Autoscalers

	records     *watch.Releases
	objects     *watch.Objects
	definitions *watch.Definitions
	enforcer    *enforce.Enforcer

	locker      *locking.Locker
	remediation *remediate.Remediation
	prover      *proving.Prover
	pruner      *prune.Pruner
	statuses    *reporting.Statuses
	admission   *admit.Admission
	witness     *witness.Witness

	ready chan struct{}
	warm  chan struct{} // closed once the releases present at the start are locked
}

// recordChanged notifies the workers of a change of the records of a release.
func (c *Controller) recordChanged(key release.Key) {
	c.locker.RecordChanged(key)
	c.prover.RecordChanged(key)
	c.remediation.RecordChanged(key)
}

// definitionChanged notifies the workers of a change of a CustomResourceDefinition.
func (c *Controller) definitionChanged(crd *metav1.PartialObjectMetadata) {
	c.locker.DefinitionChanged(crd)
	c.pruner.DefinitionChanged()
	c.scalers.DefinitionsChanged()
}

// rangesChanged enqueues the objects after a change of their autoscaler's range.
func (c *Controller) rangesChanged(ids []manifest.ID) { c.locker.RangesChanged(ids) }

// Run works until ctx ends, and returns after the end of all its goroutines. The HelmRelease cache must be synced.
func (c *Controller) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	last, cancel := writing.Outlast(ctx) // for the remaining proofs
	defer cancel()
	group.Go(func() error { c.records.Run(ctx); return nil })
	group.Go(func() error { c.definitions.Run(ctx); return nil })
	group.Go(func() error {
		<-ctx.Done()
		c.queues.ShutDown()
		return nil
	})
	select {
	case <-c.records.Synced():
	case <-ctx.Done():
		return c.stop(last, group)
	}
	keys, err := c.roster.EnqueueAll()
	if err != nil {
		return err
	}
	c.scalers.Start(ctx)
	c.locker.Start(keys, func() {
		c.objects.Start(ctx)
		close(c.warm)
	})
	group.Go(func() error { c.locker.Run(ctx); return nil })
	queues.Serve(group, c.queues.Releases, func(key string) { c.locker.Next(ctx, key) })
	queues.Serve(group, c.queues.Drift, func(key string) { c.remediation.Next(ctx, key) })
	queues.Serve(group, c.queues.Confirm, func(key release.Key) { c.prover.Next(last, key) })
	queues.Serve(group, c.queues.Pruning, func(key string) { c.pruner.Next(ctx, key) })
	for range statusWorkers {
		group.Go(func() error {
			for c.statuses.Next(ctx) {
			}
			return nil
		})
	}
	close(c.ready)
	c.options.Log.Infof("managing %s in namespace %s%s", plain.Count(len(keys), "HelmRelease"), c.options.Namespace,
		c.roster.OfShard())
	return c.stop(last, group)
}

// stop returns after the end of all work, and the proof of the last writes.
func (c *Controller) stop(last context.Context, group *errgroup.Group) error {
	err := group.Wait()
	c.remediation.Wait()
	c.prover.Last(last)
	c.objects.Wait()
	c.scalers.Wait()
	c.enforcer.Close()
	c.others.Proof.Close()
	return err
}

// Ready is closed once the records of all releases are known and work has begun.
func (c *Controller) Ready() <-chan struct{} { return c.ready }

// RecordsError returns the error of reading the release records now; nil when they are readable.
func (c *Controller) RecordsError() error { return c.records.Err() }

// Lead lets the controller write. Before, it only watches and judges, and so can act at once.
func (c *Controller) Lead() {
	c.leading.Store(true)
	if _, err := c.roster.EnqueueAll(); err != nil {
		c.options.Log.Error(err)
	}
	for _, l := range c.table.Locks() {
		l.Resume()
		c.queues.Drift.Add(l.Key)
		c.queues.Pruning.Add(l.Key)
	}
}

// Unlead stops the controller from writing.
func (c *Controller) Unlead() { c.leading.Store(false) }
