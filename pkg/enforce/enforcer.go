package enforce

import (
	"context"
	"fmt"

	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"

	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/release"
)

// Enforcer looks at objects and puts them back. It is safe for concurrent use.
type Enforcer struct {
	prover   *Prover
	writer   *writer // of the operator itself, for reads
	accounts *Accounts
	set      *objectSet
	log      logrus.FieldLogger
}

// Clients are what an Enforcer talks to the API server with.
type Clients struct {
	Discovery discovery.DiscoveryInterface
	Dynamic   dynamic.Interface
	Metadata  metadata.Interface
	// Accounts write, and Dynamic only reads; nil for Dynamic alone.
	Accounts *Accounts
	// Mark is the Secret of the operator's own that marks for Records are written to, so that drifts in quick
	// succession need not wait for lists; none when it has no name. Secrets writes it.
	Mark    types.NamespacedName
	Secrets typedcorev1.SecretsGetter
	Records View
	// ListsReadStorage is set where the API server reads all Secrets of a namespace from etcd for each check by a list
	// (see ListsReadStorage). Then marks take the place of lists wherever they can.
	ListsReadStorage bool
}

// New returns an Enforcer.
func New(c Clients, log logrus.FieldLogger) *Enforcer {
	prover := NewProver(c.Metadata, c.Secrets, c.Mark, c.Records, log)
	prover.marker.always = c.ListsReadStorage
	if c.Accounts == nil {
		c.Accounts = &Accounts{own: c.Dynamic}
	}
	w := &writer{client: c.Dynamic, prover: prover}
	return &Enforcer{prover: prover, writer: w, accounts: c.Accounts, set: newObjectSet(c.Discovery), log: log}
}

// Close ends what is still under way for callers that are gone, and waits for it. The Enforcer must not be used any
// more.
func (e *Enforcer) Close() { e.prover.Close() }

// as returns the writer in whose name an object is written.
func (e *Enforcer) as(o *lock.Object) (*writer, error) {
	client, err := e.accounts.client(o.Account)
	if err != nil {
		return nil, err
	}
	w := *e.writer
	w.client = client
	return &w, nil
}

// Look returns the live object; nil when it does not exist.
func (e *Enforcer) Look(ctx context.Context, o *lock.Object) (*unstructured.Unstructured, error) {
	live, err := e.writer.resource(o).Get(ctx, o.ID.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", o.ID, err)
	}
	return live, nil
}

// Holds reports whether the newest record of the release still is rec, as of a moment after the call. It must be
// called after the objects to be reverted were observed, and before they are written to.
func (e *Enforcer) Holds(ctx context.Context, rec release.Record) (bool, error) {
	return e.prover.Holds(ctx, rec)
}

// Newest returns the newest record of a release, false when there is none, as of a moment after the call.
func (e *Enforcer) Newest(ctx context.Context, key release.Key) (release.Record, bool, error) {
	return e.prover.Newest(ctx, key)
}

// DryRun returns what the API server would make of the live object if it were reverted; nothing is written.
func (e *Enforcer) DryRun(ctx context.Context, r *Revert) (*unstructured.Unstructured, error) {
	w, err := e.as(r.Object)
	if err != nil {
		return nil, err
	}
	return w.update(ctx, r, true)
}

// Revert puts one object back and returns it as it then is. Holds must have been true after the object was
// observed. Errors are those of the API server: a conflict or "already exists" asks for a fresh look. setID names
// the ObjectSet.
func (e *Enforcer) Revert(ctx context.Context, setID string, r *Revert) (*unstructured.Unstructured, error) {
	defer e.prover.busy()()
	w, err := e.as(r.Object)
	if err != nil {
		return nil, err
	}
	return e.set.revert(ctx, w, setID, r)
}

// TakeBack deletes an object that the operator created, unless Helm or a person has written to it since, or it is
// gone. It reports whether it deleted the object.
func (e *Enforcer) TakeBack(ctx context.Context, o *lock.Object, created *unstructured.Unstructured) (bool, error) {
	w, err := e.as(o)
	if err == nil {
		err = w.takeBack(ctx, o, created)
	}
	switch {
	case err == nil:
		e.log.WithField("object", o.ID.String()).Info("took back what was re-created while Helm began to work")
		return true, nil
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return false, nil // Helm has already deleted it, or has made it its own
	}
	return false, fmt.Errorf("take back %s: %w", o.ID, err)
}
