package teams

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	coordinationlisters "k8s.io/client-go/listers/coordination/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	helm "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/process"
)

// handover is the time for another replica to take a released Lease over. A restart within it changes no ReleaseLock.
const handover = 5 * time.Second

// operators follows the Leases of a namespace. A Lease that its holder no longer renews sends no event, so each one is
// judged again when it expires.
type operators struct {
	informer cache.SharedIndexInformer
	leases   coordinationlisters.LeaseNamespaceLister
	queue    workqueue.TypedDelayingInterface[string]
	clock    clock.WithTicker
	// changed is called for a new operator, and when one has stopped or runs again.
	changed func()

	// stopped is by the name of the Lease. Only run uses it.
	stopped map[string]bool
}

func newOperators(kube kubernetes.Interface, namespace string, c clock.WithTicker, changed func()) (*operators, error) {
	leases := informers.NewSharedInformerFactoryWithOptions(kube, 0, informers.WithNamespace(namespace),
		informers.WithTransform(process.Trim)).Coordination().V1().Leases()
	o := &operators{
		informer: leases.Informer(), leases: leases.Lister().Leases(namespace), clock: c, changed: changed,
		stopped: map[string]bool{},
		queue:   workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{Clock: c}),
	}
	add := func(obj any) {
		if lease, ok := obj.(*coordinationv1.Lease); ok {
			o.queue.Add(lease.Name)
		}
	}
	_, err := o.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: add, UpdateFunc: func(_, lease any) { add(lease) },
		// Without its Lease, it is not known whether an operator runs.
		DeleteFunc: func(obj any) {
			if deleted, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = deleted.Obj
			}
			add(obj)
		},
	})
	return o, err
}

// run judges the Leases until ctx ends.
func (o *operators) run(ctx context.Context) error {
	go func() {
		<-ctx.Done()
		o.queue.ShutDown()
	}()
	for {
		name, shutdown := o.queue.Get()
		if shutdown {
			return nil
		}
		o.judge(name)
		o.queue.Done(name)
	}
}

// judge reports a changed state of an operator, and returns to its Lease when that may change without an event.
func (o *operators) judge(name string) {
	lease, err := o.leases.Get(name)
	if err != nil && !apierrors.IsNotFound(err) {
		return // a cache has no other error
	}
	gone := false
	if err == nil {
		var again time.Duration
		if _, gone, again = o.state(lease.Spec); again > 0 {
			o.queue.AddAfter(name, again)
		}
	}
	if was, known := o.stopped[name]; !known || was != gone {
		o.stopped[name] = gone
		o.changed()
	}
}

// state returns the last renewal of a Lease, and whether its operator is gone: its Lease has expired, or was released
// and not taken over. again is the time until an operator with this Lease may count as gone.
func (o *operators) state(spec coordinationv1.LeaseSpec) (seen time.Time, gone bool, again time.Duration) {
	seen, gone = inspect.LastSeen(spec, o.clock.Now())
	since := o.clock.Since(seen)
	switch {
	case seen.IsZero():
		return seen, false, 0
	case !gone:
		return seen, false, inspect.GoneAfter(spec) - since + time.Millisecond
	case since < handover:
		return seen, false, handover - since
	}
	return seen, true, 0
}

// stop is the end of an operator.
type stop struct {
	seen time.Time
	text string
}

// stoppedOf returns the end of the operator of a HelmRelease; nil while it runs, and when that is not known.
func (o *operators) stoppedOf(hr *helm.HelmRelease) *stop {
	name, claimed := inspect.LeaseOf(hr)
	if !claimed {
		return nil
	}
	lease, err := o.leases.Get(name)
	if err != nil {
		return nil
	}
	seen, gone, _ := o.state(lease.Spec)
	if !gone {
		return nil
	}
	return &stop{seen, inspect.NotRunning(hr, seen)}
}
