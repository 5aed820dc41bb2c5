package prune

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/load"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/watch"
)

// waitForKind schedules another attempt for the release, when an unknown kind may be served.
func (pr *Pruner) waitForKind(l *lock.Lock, known *candidates) {
	known.waits = l
	pr.remember(l, *known)
	wait := pr.Kinds.Wait()
	if wait > watch.KindSoon {
		wait = historyLater
	}
	pr.Queues.Pruning.AddAfter(l.Key, wait)
}

// readHistory adds the objects of earlier revisions to the candidates. A process reads each manifest once, and once
// more after an unserved kind of it is served. An unreadable manifest proves nothing, and is skipped. The candidates of
// a revision are dropped with its record.
func (pr *Pruner) readHistory(ctx context.Context, l *lock.Lock, known *candidates) error {
	earlier := pr.Records.Before(l.Record)
	known.forget(earlier)
	for _, rec := range earlier {
		if unknown, done := known.read[rec.UID]; done && !pr.Kinds.Arrived(unknown) || l.Closed() {
			continue
		}
		if err := pr.pace.Wait(ctx); err != nil {
			return err
		}
		// A record that is not found was pruned by Helm meanwhile.
		if err := pr.readRemoved(ctx, l, rec, known); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// readRemoved is readHistory for one revision.
func (pr *Pruner) readRemoved(ctx context.Context, l *lock.Lock, rec release.Record, known *candidates) error {
	if err := pr.Budget.Await(ctx, rec.Key); err != nil {
		return err
	}
	var unknown []schema.GroupVersionKind
	prob, err := pr.Loader.Read(ctx, rec, func(found *load.Contents) error {
		if trusted, err := pr.Trusted.WasDeployed(ctx, l, rec, found.Release); err != nil || !trusted {
			return err
		}
		for _, o := range found.Unknown {
			unknown = append(unknown, o.GVK)
		}
		if !known.addAll(l, rec, found.Objects) {
			pr.Log.WithField(
				"release", l.Release.String(),
			).Debugf("earlier revisions declare more than %d objects; the others are left alone", maxRemoved)
		}
		return nil
	})
	if err != nil {
		return err
	}
	known.read[rec.UID] = unknown
	if prob.Reason != "" {
		pr.Log.WithField(
			"release", l.Release.String(),
		).Debugf("revision %d is passed over when prune candidates are collected: %s", rec.Revision, prob.Message)
	}
	return nil
}
