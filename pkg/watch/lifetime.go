package watch

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
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
	if o.TimeoutSeconds == nil || lists(o) {
		return
	}
	seconds := int64(Lifetime / time.Second)
	o.TimeoutSeconds = &seconds
}

// limited returns lw with watches of Lifetime. While nothing listens at the API server's address, the Reflector asks
// again for the watch that it had. What answers then may have been restored from a backup. It would deliver nothing
// before its resource versions are those of that watch, so everything is listed again.
func limited(lw *cache.ListWatch) *cache.ListWatch {
	copied := *lw
	away := false // only the goroutine of the Reflector calls the function
	copied.WatchFuncWithContext = func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
		Limit(&o)
		w, err := lw.WatchFuncWithContext(ctx, o)
		if err == nil && away && !lists(&o) {
			w.Stop()
			err = apierrors.NewResourceExpired("the API server was away")
		}
		away = utilnet.IsConnectionRefused(err)
		if err != nil {
			return nil, err
		}
		return w, nil
	}
	return &copied
}

// lists reports whether a watch begins with a list.
func lists(o *metav1.ListOptions) bool { return o.SendInitialEvents != nil && *o.SendInitialEvents }
