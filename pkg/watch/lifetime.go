package watch

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Lifetime is how long a watch lasts: the API server is asked to end it then. It sends a bookmark right before, so
// the next watch goes on from there. A watch that has not ended by itself a little later is one of an API server
// that hangs, which nothing else tells where a load balancer keeps the connection open. It costs one request per
// watched kind in that time.
const Lifetime = 35 * time.Second

// Limit asks for a watch of Lifetime. Options of a list, and of a watch that begins with a list, stay as they are:
// a list takes as long as it takes.
func Limit(o *metav1.ListOptions) {
	if o.TimeoutSeconds == nil || o.SendInitialEvents != nil && *o.SendInitialEvents {
		return
	}
	seconds := int64(Lifetime / time.Second)
	o.TimeoutSeconds = &seconds
}

// limited returns lw with watches of Lifetime.
func limited(lw *cache.ListWatch) *cache.ListWatch {
	copied := *lw
	copied.WatchFuncWithContext = func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
		Limit(&o)
		return lw.WatchFuncWithContext(ctx, o)
	}
	return &copied
}
