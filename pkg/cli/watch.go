package cli

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
)

// follow calls do for a HelmRelease, or for all of them if name is empty: first as they are, then for each change,
// until do returns true or an error, or ctx ends. Broken watches are taken up again.
func (h *helmReleases) follow(
	ctx context.Context, name string, do func(watch.EventType, *v1alpha1.HelmRelease) (bool, error),
) error {
	selector := ""
	if name != "" {
		selector = called(name)
	}
	// The first list is explicit: a missing permission or kind would be retried for ever otherwise.
	if _, err := h.client.List(ctx, metav1.ListOptions{FieldSelector: selector, Limit: 1}); err != nil {
		return h.apiError("list the HelmReleases", err)
	}
	probe, err := h.client.Watch(ctx, metav1.ListOptions{FieldSelector: selector})
	if err != nil {
		return h.apiError("watch the HelmReleases", err)
	}
	probe.Stop()
	err = until(ctx, h.client, selector, do)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// until calls do for the objects of a client that a field selector selects: first as they are, then for each change,
// until do returns true or an error, or ctx ends.
func until[T any](
	ctx context.Context, client dynamic.ResourceInterface, selector string, do func(watch.EventType, *T) (bool, error),
) error {
	_, err := watchtools.UntilWithSync(ctx, selected(client, selector), &unstructured.Unstructured{}, nil,
		func(event watch.Event) (bool, error) {
			object, ok := event.Object.(*unstructured.Unstructured)
			if !ok {
				return false, nil
			}
			decoded, err := typed[T](object)
			if err != nil {
				return false, err
			}
			return do(event.Type, decoded)
		})
	return err
}

// called is the field selector of an object.
func called(name string) string {
	return fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
}

// selected lists and watches the objects of a client with a field selector.
func selected(client dynamic.ResourceInterface, selector string) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = selector
			return client.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = selector
			return client.Watch(ctx, o)
		},
	}
}
