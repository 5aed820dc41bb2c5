package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// listWatch reads objects with a label by a dynamic client.
func listWatch(r dynamic.ResourceInterface, label string) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = label
			return r.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			o.LabelSelector = label
			return r.Watch(ctx, o)
		},
	}
}

// follow passes every event of the source from now on to take, in order, until ctx ends. It returns once the start of
// the watch is fixed: later changes are delivered. Failed receives the error of a watch that ends before ctx.
func follow(ctx context.Context, s *cache.ListWatch, take func(apiwatch.Event), failed func(error)) error {
	list, err := s.ListWithContext(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return fmt.Errorf("list before a watch: %w", err)
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return fmt.Errorf("list before a watch: %w", err)
	}
	w, err := watchtools.NewRetryWatcherWithContext(ctx, accessor.GetResourceVersion(), s)
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	go func() {
		defer w.Stop()
		for event := range w.ResultChan() {
			if event.Type == apiwatch.Error {
				failed(fmt.Errorf("watch: %w", apierrors.FromObject(event.Object)))
				return
			}
			take(event)
		}
		if ctx.Err() == nil {
			failed(errors.New("a watch ended by itself"))
		}
	}()
	return nil
}

// versionOf returns the resource version as a number, which it is for this API server.
func versionOf(obj metav1.Object) uint64 {
	n, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
