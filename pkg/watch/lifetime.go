package watch

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

const (
	// Lifetime is the duration of a watch. The API server ends it, and sends a bookmark right before, so the next watch
	// continues from there. It costs one request per watched kind in that time.
	Lifetime = 35 * time.Second
	// Deadline is the time after which the client ends a watch of Lifetime. Only a hanging API server, or a load
	// balancer with a dead connection, leaves a watch open for so long.
	Deadline = Lifetime + 3*time.Second
)

// Limit sets Lifetime as the timeout of a watch. It does not change the options of a list, or of a watch that begins
// with a list: a list has no limit here.
func Limit(o *metav1.ListOptions) {
	if o.TimeoutSeconds == nil || lists(o) {
		return
	}
	seconds := int64(Lifetime / time.Second)
	o.TimeoutSeconds = &seconds
}

// limited returns lw with watches of Lifetime that the client ends at the deadline. While nothing listens at the API
// server's address, the Reflector repeats the request for its last watch. The server that answers then may have been
// restored from a backup. It would deliver nothing until its resource versions reach those of that watch, so everything
// is listed again.
func limited(lw *cache.ListWatch, deadline time.Duration) *cache.ListWatch {
	copied := *lw
	away := false // only the goroutine of the Reflector calls the function
	copied.WatchFuncWithContext = func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
		Limit(&o)
		cancel := context.CancelFunc(func() {})
		if !lists(&o) {
			ctx, cancel = context.WithTimeout(ctx, deadline)
		}
		w, err := lw.WatchFuncWithContext(ctx, o)
		if err == nil && away && !lists(&o) {
			w.Stop()
			err = apierrors.NewResourceExpired("the API server was away")
		}
		away = utilnet.IsConnectionRefused(err)
		if err != nil {
			cancel()
			return nil, err
		}
		return bounded{w, cancel}, nil
	}
	return &copied
}

// bounded is a watch whose request has a deadline. Stop releases it.
type bounded struct {
	apiwatch.Interface
	cancel context.CancelFunc
}

func (b bounded) Stop() {
	b.Interface.Stop()
	b.cancel()
}

// listWatch lists and watches by the client of a resource.
func listWatch[L runtime.Object](client interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (apiwatch.Interface, error)
}) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, o)
		},
		WatchFuncWithContext: client.Watch,
	}
}

// lists reports whether a watch begins with a list.
func lists(o *metav1.ListOptions) bool { return o.SendInitialEvents != nil && *o.SendInitialEvents }
