package enforce

import (
	"context"
	"fmt"

	"github.com/rancher/wrangler/v3/pkg/apply"
	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"github.com/rancher/helm-locker/pkg/proof"
)

// Enforcer reads objects and reverts them. It is safe for concurrent use.
type Enforcer struct {
	*proof.Verifier
	writer   *writer // of the operator itself, for reads
	accounts *Accounts
	sets     apply.Apply
	log      logrus.FieldLogger
}

// New returns an Enforcer that reads with client, writes with accounts (with client if that is nil), and verifies
// records with verifier.
func New(
	kinds discovery.DiscoveryInterface, client dynamic.Interface, accounts *Accounts, verifier *proof.Verifier,
	log logrus.FieldLogger,
) *Enforcer {
	if accounts == nil {
		accounts = &Accounts{own: client}
	}
	return &Enforcer{Verifier: verifier, writer: &writer{client: client, verifier: verifier}, accounts: accounts,
		sets: newApply(kinds), log: log}
}

// as returns the writer with the account of an object.
func (e *Enforcer) as(o Object) (*writer, error) {
	client, err := e.accounts.client(o.Account)
	if err != nil {
		return nil, err
	}
	w := *e.writer
	w.client = client
	return &w, nil
}

// Get returns the live object; nil when it does not exist.
func (e *Enforcer) Get(ctx context.Context, o Object) (*unstructured.Unstructured, error) {
	live, err := e.writer.resource(o).Get(ctx, o.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", o, err)
	}
	return live, nil
}

// DryRun returns the live object as a revert would leave it. It writes nothing.
func (e *Enforcer) DryRun(ctx context.Context, r *Revert) (*unstructured.Unstructured, error) {
	w, err := e.as(r.Object)
	if err != nil {
		return nil, err
	}
	return w.update(ctx, r, true)
}

// Revert reverts or re-creates one object and returns it as it then is. Holds must have been true after the object was
// observed. Errors are those of the API server: after a conflict or "already exists" the object has to be read again.
// setID names the ObjectSet.
func (e *Enforcer) Revert(ctx context.Context, setID string, r *Revert) (*unstructured.Unstructured, error) {
	w, err := e.as(r.Object)
	if err != nil {
		return nil, err
	}
	return applySet(e.sets, setID, r, func() (*unstructured.Unstructured, error) {
		if r.Live == nil {
			return w.create(ctx, r)
		}
		return w.update(ctx, r, false)
	})
}

// TakeBack deletes an object that the operator created, unless Helm or a person has written to it since. It reports
// whether it deleted the object.
func (e *Enforcer) TakeBack(ctx context.Context, o Object, created *unstructured.Unstructured) (bool, error) {
	w, err := e.as(o)
	if err == nil {
		err = w.takeBack(ctx, o, created)
	}
	switch {
	case err == nil:
		e.log.WithField("object", o.String()).Info("took back what was re-created while Helm began to work")
		return true, nil
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return false, nil // Helm has already deleted it, or has made it its own
	}
	return false, fmt.Errorf("take back %s: %w", o, err)
}

// Edit makes an edit if the object still is as observed: otherwise the error is the API server's conflict. Holds must
// have been true after the object was observed.
func (e *Enforcer) Edit(ctx context.Context, edit Edit) error {
	w, err := e.as(edit.Object)
	if err != nil {
		return err
	}
	_, err = w.send(ctx, edit)
	return err
}
