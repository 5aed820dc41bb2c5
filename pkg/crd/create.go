package crd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
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
	// attemptEvery is the time between two comparisons. The API server takes some tenths of a second to serve a kind.
	attemptEvery = 100 * time.Millisecond
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

// install creates or updates one definition, and waits until its kind is served. Other writers may write or delete the
// definition meanwhile, so each attempt compares it anew.
func install(
	ctx context.Context, client clientv1.CustomResourceDefinitionInterface,
	desired *apiextensionsv1.CustomResourceDefinition,
) error {
	last := "not answered"
	for {
		live, err := ensure(ctx, client, desired)
		switch {
		case err == nil && established(live):
			return nil
		case err == nil:
			last = conditions(live)
		case ctx.Err() == nil && !passes(err):
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting until it is established: %w (last seen: %s)", ctx.Err(), last)
		case <-time.After(attemptEvery):
		}
	}
}

// passes reports whether another attempt may succeed after an error: another writer was faster, or the connection broke
// and it is unknown whether the API server executed the request. A refused connection is an error: only the caller knows
// how long to wait for an API server.
func passes(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) ||
		utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err) ||
		utilnet.IsTimeout(err)
}

// established reports whether the API server serves the kind of a definition under the requested names. A terminating
// definition still serves its kind, but its deletion will end that.
func established(definition *apiextensionsv1.CustomResourceDefinition) bool {
	return definition.DeletionTimestamp == nil &&
		apihelpers.IsCRDConditionTrue(definition, apiextensionsv1.Established)
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
	return updated, explain("update", err)
}

// conditions renders the conditions of a definition that explain why it is not established: a clash of names, mostly.
func conditions(definition *apiextensionsv1.CustomResourceDefinition) string {
	if definition.DeletionTimestamp != nil {
		return "it is being deleted"
	}
	var parts []string
	for _, condition := range definition.Status.Conditions {
		parts = append(parts, fmt.Sprintf("%s=%s %s: %s", condition.Type, condition.Status, condition.Reason,
			condition.Message))
	}
	if len(parts) == 0 {
		return "no conditions yet"
	}
	return strings.Join(parts, "; ")
}

// explain describes a failure and, for a missing permission, its remedy.
func explain(verb string, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err):
		return fmt.Errorf(
			"not permitted to %s it (grant the verbs get, create and update on "+
				"customresourcedefinitions, or install it beforehand with kubectl apply): %w", verb, err,
		)
	default:
		return fmt.Errorf("%s: %w", verb, err)
	}
}
