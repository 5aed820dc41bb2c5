package crd

import (
	"context"
	"errors"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	clientv1 "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

const (
	// fieldManager is the field manager of the definitions.
	fieldManager = "helm-locker"
	// timeout bounds Create where the caller's context does not.
	timeout = time.Minute
)

// Create makes the API server of cfg serve the kinds of helm-locker. It creates the CustomResourceDefinitions, or
// updates those without the parts that this version needs, and returns when they are established. It rewrites no
// existing part, and removes nothing added by another version of helm-locker. It returns an error when ctx ends, and
// after a minute at the latest. It wraps errors of the API server, such as a missing permission.
func Create(ctx context.Context, cfg *rest.Config) error {
	definitions, err := List()
	if err != nil {
		return err
	}
	client, err := clientset.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("making a client for custom resource definitions: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for _, definition := range definitions {
		if err := install(ctx, client.ApiextensionsV1().CustomResourceDefinitions(), definition); err != nil {
			return fmt.Errorf("installing custom resource definition %s: %w", definition.Name, err)
		}
	}
	return nil
}

// install creates or updates one definition and waits until it is established. It starts over when someone else writes
// or deletes the definition meanwhile.
func install(
	ctx context.Context, client clientv1.CustomResourceDefinitionInterface,
	desired *apiextensionsv1.CustomResourceDefinition,
) error {
	for {
		live, err := ensure(ctx, client, desired)
		switch {
		case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), errors.Is(err, errDeleted):
			// Another writer was faster, and has made progress. The next request fails when ctx has ended.
			continue
		case disconnected(ctx, err):
			// It is unknown whether the API server executed it; the next request shows that.
			if err := pause(ctx); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		if established(live) {
			return nil
		}
		err = wait(ctx, client, live)
		if !errors.Is(err, errDeleted) && !disconnected(ctx, err) {
			return err
		}
	}
}

// disconnected reports whether an error is that of a broken or unanswered connection. It excludes refused
// connections: only the caller knows how long to wait for an API server. It also excludes the end of ctx.
func disconnected(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	return utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err) ||
		utilnet.IsTimeout(err)
}

// retryDelay is how long after a broken connection the next request is made.
const retryDelay = 200 * time.Millisecond

// pause waits for the time of retryDelay, and returns the error of ctx if it ends meanwhile.
func pause(ctx context.Context) error {
	delay := time.NewTimer(retryDelay)
	defer delay.Stop()
	select {
	case <-delay.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ensure brings the stored definition up to the desired one and returns it as stored. It writes only if they differ.
func ensure(
	ctx context.Context, client clientv1.CustomResourceDefinitionInterface,
	desired *apiextensionsv1.CustomResourceDefinition,
) (*apiextensionsv1.CustomResourceDefinition, error) {
	live, err := client.Get(ctx, desired.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		created, err := client.Create(ctx, desired, metav1.CreateOptions{FieldManager: fieldManager})
		return created, explain("create", err)
	}
	if err != nil {
		return nil, explain("get", err)
	}
	merged := merge(live, desired)
	if live.DeletionTimestamp != nil || equality.Semantic.DeepEqual(live, merged) {
		return live, nil
	}
	updated, err := client.Update(ctx, merged, metav1.UpdateOptions{FieldManager: fieldManager})
	if apierrors.IsNotFound(err) {
		return nil, errDeleted
	}
	return updated, explain("update", err)
}
