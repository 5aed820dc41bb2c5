package controller

import (
	"context"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/rancher/helm-locker/pkg/guard"
	"github.com/rancher/helm-locker/pkg/ledger"
)

// Admit answers the API server's question about a request to change or delete an object, before it is carried out.
func (c *Controller) Admit(ctx context.Context, r *admissionv1.AdmissionRequest) guard.Decision {
	return c.admission.Decide(ctx, r)
}

// Witness records whether the writer of a release record may carry out the record. Every request passes.
func (c *Controller) Witness(ctx context.Context, r *admissionv1.AdmissionRequest) guard.Decision {
	return c.witness.See(ctx, r)
}

// Guarded returns the scope of the guard at the API server. It is complete once Warm is closed.
func (c *Controller) Guarded() guard.Wanted {
	var records []string
	if c.options.Witnessed {
		for _, storage := range c.options.Storages {
			records = append(records, storage.GVR().Resource)
		}
	}
	return c.ledger.Guarded(records)
}

// GuardedChanged delivers a token when the result of Guarded may have changed.
func (c *Controller) GuardedChanged() <-chan struct{} { return c.ledger.GuardChanges() }

// Warm is closed once the releases present at the start are locked.
func (c *Controller) Warm() <-chan struct{} { return c.warm }

// SetGuard records the registration of the guard at the API server, for the statuses.
func (c *Controller) SetGuard(s guard.State) {
	if c.views.SetGuard(s) {
		c.ledger.Each(func(key string, _ *ledger.Entry) { c.queues.StatusChanged(key) })
	}
}
