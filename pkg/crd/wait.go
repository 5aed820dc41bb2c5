package crd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	clientv1 "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// errDeleted ends a wait for a deleted definition.
var errDeleted = errors.New("the definition was deleted")

// wait returns nil when the API server serves the kind of a definition, and errDeleted when it is deleted. The informer
// repeats a refused request until ctx ends, so a missing permission ends the wait here.
func wait(
	ctx context.Context, client clientv1.CustomResourceDefinitionInterface,
	live *apiextensionsv1.CustomResourceDefinition,
) error {
	ctx, refuse := context.WithCancelCause(ctx)
	defer refuse(nil)
	permitted := func(verb string, err error) error {
		if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
			refuse(explain(verb, err))
		}
		return err
	}
	selector := fields.OneTermEqualSelector(metav1.ObjectNameField, live.Name).String()
	watcher := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = selector
			list, err := client.List(ctx, o)
			return list, permitted("list", err)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = selector
			events, err := client.Watch(ctx, o)
			return events, permitted("watch", err)
		},
	}
	exists := func(found cache.Store) (bool, error) {
		if len(found.List()) == 0 {
			return false, errDeleted
		}
		return false, nil
	}
	_, err := watchtools.UntilWithSync(ctx, watcher, &apiextensionsv1.CustomResourceDefinition{}, exists,
		func(event watch.Event) (bool, error) {
			if event.Type == watch.Deleted {
				return false, errDeleted
			}
			if seen, ok := event.Object.(*apiextensionsv1.CustomResourceDefinition); ok {
				live = seen
			}
			return established(live), nil
		})
	cause := context.Cause(ctx)
	switch {
	case apierrors.IsForbidden(cause), apierrors.IsUnauthorized(cause):
		return cause
	case cause != nil:
		return fmt.Errorf("waiting until it is established: %w (last seen: %s)", cause, conditions(live))
	}
	return err
}

// established reports whether the API server serves the kind of a definition under the requested names. A terminating
// definition still serves its kind, but its deletion will end that.
func established(definition *apiextensionsv1.CustomResourceDefinition) bool {
	return definition.DeletionTimestamp == nil &&
		apihelpers.IsCRDConditionTrue(definition, apiextensionsv1.Established)
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
