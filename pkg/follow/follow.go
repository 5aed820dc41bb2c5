// Package follow reads the streams of events of operators. The Leases of a namespace lead to them: each leader
// announces its address and its certificate there. A reader goes on where it was, over all leaders.
package follow

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/lease"
	"github.com/rancher/helm-locker/pkg/message"
)

// Options say whose events are read.
type Options struct {
	// Config is that of the API server. Its bearer token is the one for the operators, too.
	Config *rest.Config
	// Namespace and Controller are those of the operators.
	Namespace, Controller string
	// Shard is that of the operator; all operators of the controller name are read when it is nil.
	Shard labels.Selector
	// Resume is where to go on in the stream of each Lease, by its name. Without an entry everything is read that the
	// operator still has.
	Resume map[string]message.Position
	// Handle is called with each event, and where it stands in the stream of a Lease; with nil at the end of a leader.
	// It must not wait. The streams of several Leases call it at the same time.
	Handle func(lease string, at message.Position, m *message.Message)
	Clock  clock.WithTicker
	Log    logrus.FieldLogger
}

// Follower reads the streams of operators.
type Follower struct {
	Options
	listed chan struct{}

	mu      sync.Mutex         // guards the rest
	readers map[string]*reader // by the name of the Lease
}

// New returns a follower, which reads once it runs.
func New(o Options) *Follower {
	return &Follower{Options: o, listed: make(chan struct{}), readers: map[string]*reader{}}
}

// Listed is closed when the Leases are known.
func (f *Follower) Listed() <-chan struct{} { return f.listed }

// Run reads until ctx ends. No event is handled after it has returned.
func (f *Follower) Run(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(f.Config)
	if err != nil {
		return fmt.Errorf("client of Leases: %w", err)
	}
	var running sync.WaitGroup
	defer running.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	seen := func(o any) {
		if l, ok := o.(*coordinationv1.Lease); ok && f.follows(l.Name) {
			f.see(ctx, &running, l)
		}
	}
	_, leases := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(client.CoordinationV1().RESTClient(), "leases", f.Namespace,
			fields.Everything()),
		ObjectType: &coordinationv1.Lease{},
		Handler:    cache.ResourceEventHandlerFuncs{AddFunc: seen, UpdateFunc: func(_, o any) { seen(o) }},
	})
	running.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), leases.HasSynced) {
			close(f.listed)
		}
	})
	leases.RunWithContext(ctx)
	return nil
}

// follows reports whether a Lease is one of an operator whose events are read.
func (f *Follower) follows(name string) bool {
	if f.Shard != nil && !f.Shard.Empty() {
		return name == lease.Name(f.Controller, f.Shard)
	}
	return lease.OfController(name, f.Controller)
}

// see passes what a Lease announces on to its reader, and starts one for a Lease that announces something for the first
// time.
func (f *Follower) see(ctx context.Context, running *sync.WaitGroup, l *coordinationv1.Lease) {
	at := announcement{l.Annotations[lease.EventsAddress], l.Annotations[lease.EventsCertificate]}
	if at.address == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.readers[l.Name]
	if r == nil {
		r = &reader{Follower: f, name: l.Name, at: f.Resume[l.Name], moved: make(chan struct{}, 1),
			log: f.Log.WithField("lease", l.Name)}
		f.readers[l.Name] = r
		running.Go(func() { r.run(ctx) })
	}
	r.move(at)
}

// Back-off between attempts to reach an operator.
const firstRetry, lastRetry = 250 * time.Millisecond, 10 * time.Second
