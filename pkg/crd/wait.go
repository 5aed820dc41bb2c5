package crd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	clientv1 "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// errDeleted ends a wait for a deleted definition.
var errDeleted = errors.New("the definition was deleted")

// waitFor returns nil when the definition is as wanted, beginning with live, and errDeleted when it is deleted.
func waitFor(
	ctx context.Context, client clientv1.CustomResourceDefinitionInterface,
	live *apiextensionsv1.CustomResourceDefinition, want func(*apiextensionsv1.CustomResourceDefinition) bool,
) error {
	selector := fields.OneTermEqualSelector(metav1.ObjectNameField, live.Name).String()
	watcher := &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = selector
			return client.Watch(ctx, options)
		},
	}
	for !want(live) {
		_, err := watchtools.Until(ctx, live.ResourceVersion, watcher, func(event watch.Event) (bool, error) {
			switch event.Type {
			case watch.Deleted:
				return false, errDeleted
			case watch.Error:
				return false, apierrors.FromObject(event.Object)
			}
			if seen, ok := event.Object.(*apiextensionsv1.CustomResourceDefinition); ok {
				live = seen
			}
			return want(live), nil
		})
		switch {
		case err == nil, errors.Is(err, errDeleted):
			return err
		case ctx.Err() != nil:
			return fmt.Errorf("waiting until it is established: %w (last seen: %s)", ctx.Err(), conditions(live))
		case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
			return explain("watch", err)
		}
		// The watch cannot resume from that resource version: read the definition again.
		name := live.Name
		live, err = client.Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return errDeleted
		case err != nil:
			return explain("get", err)
		}
	}
	return nil
}

// established reports whether the API server serves the kind of a definition under the requested names.
func established(definition *apiextensionsv1.CustomResourceDefinition) bool {
	for _, condition := range definition.Status.Conditions {
		if condition.Type == apiextensionsv1.Established {
			return condition.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}

// never is the condition of a wait for the deletion of the definition only.
func never(*apiextensionsv1.CustomResourceDefinition) bool {
	return false
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
			"not permitted to %s it (grant the verbs get, list, watch, create and update on "+
				"customresourcedefinitions, or install it beforehand with kubectl apply): %w", verb, err,
		)
	default:
		return fmt.Errorf("%s: %w", verb, err)
	}
}
