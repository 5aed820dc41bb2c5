package process

import (
	"context"
	"fmt"
	"time"

	"github.com/rancher/lasso/pkg/cache"
	"github.com/rancher/lasso/pkg/client"
	"github.com/rancher/wrangler/v3/pkg/generic"
	"github.com/rancher/wrangler/v3/pkg/schemes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	helm "github.com/rancher/helm-locker/pkg/generated/controllers/helm.cattle.io"
	"github.com/rancher/helm-locker/pkg/watch"
)

// NewFactory returns the factory of the caches of this module's kinds in one namespace.
func NewFactory(config *rest.Config, namespace string) (*helm.Factory, error) {
	caches, err := NewCaches(config, namespace)
	if err != nil {
		return nil, err
	}
	return helm.NewFactoryFromConfigWithOptions(config,
		&helm.FactoryOptions{Namespace: namespace, SharedCacheFactory: caches})
}

// NewCaches returns the caches of a namespace, or of all namespaces when it is empty.
func NewCaches(config *rest.Config, namespace string) (cache.SharedCacheFactory, error) {
	config = rest.CopyConfig(config)
	config.Timeout = watch.Deadline
	clients, err := client.NewSharedClientFactory(config, &client.SharedClientFactoryOptions{Scheme: schemes.All})
	if err != nil {
		return nil, err
	}
	return cache.NewSharedCachedFactory(uncheckedFactory{clients}, &cache.SharedCacheFactoryOptions{
		DefaultNamespace: namespace, DefaultTweakList: watch.Limit,
	}), nil
}

// Cached returns a controller of a factory. Its cache has no managedFields, and its handlers stay until ctx ends.
func Cached[T generic.RuntimeMetaObject, L runtime.Object](
	ctx context.Context, c generic.ControllerInterface[T, L],
) (generic.ControllerInterface[T, L], error) {
	if err := c.Informer().SetTransform(Trim); err != nil {
		return nil, fmt.Errorf("cache of %s: %w", c.GroupVersionKind().Kind, err)
	}
	return handlersUntil[T, L]{c, ctx}, nil
}

// syncTimeout bounds how long the objects of a factory may take to be listed at the start.
const syncTimeout = 2 * time.Minute

// Fill starts the caches of a factory. It waits until they are filled, ctx has ended (nil), or syncTimeout has passed.
// what names the objects in errors.
func Fill(ctx context.Context, factory *helm.Factory, what string) error {
	started := make(chan error, 1)
	go func() { started <- factory.Start(ctx, 1) }()
	timeout := time.NewTimer(syncTimeout)
	defer timeout.Stop()
	select {
	case err := <-started:
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("watch %s: %w", what, err)
		}
		return nil
	case <-timeout.C:
		return fmt.Errorf("list %s: not answered in %s", what, syncTimeout)
	}
}

// Trim removes managedFields from an object before it is cached. They are a large part of an object, and no code reads
// them. All writes are patches, so the API server keeps them.
func Trim(obj any) (any, error) {
	if o, ok := obj.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	return obj, nil
}

// uncheckedFactory is a client factory without a health check of the API server. Lasso repeats the check before it
// starts a cache until it succeeds, even after the end of its context: an operator would hang if stopped while it
// starts. The cache retries its list anyway.
type uncheckedFactory struct{ client.SharedClientFactory }

func (uncheckedFactory) IsHealthy(context.Context) bool { return true }

// handlersUntil is a controller that keeps handlers registered until ctx ends, after the work. When the context of a
// registration ends, Lasso removes the handler from a list that its worker may be iterating over.
type handlersUntil[T generic.RuntimeMetaObject, L runtime.Object] struct {
	generic.ControllerInterface[T, L]
	ctx context.Context
}

func (l handlersUntil[T, L]) OnChange(_ context.Context, name string, handler generic.ObjectHandler[T]) {
	l.ControllerInterface.OnChange(l.ctx, name, handler)
}
