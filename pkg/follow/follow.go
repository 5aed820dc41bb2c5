// Package follow reads the streams of events of operators. It finds them by the Leases of a namespace: each leader
// announces its address and its certificate there. A reader resumes at its last position, over all leaders.
package follow

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/rancher/helm-locker/pkg/lease"
)

// New returns a follower. Run begins to read.
func New(o Options) *Follower {
	return &Follower{Options: o, listed: make(chan struct{}), readers: map[string]*reader{}}
}

// Listed returns a channel that closes with the first list of the Leases.
func (f *Follower) Listed() <-chan struct{} { return f.listed }

// Run reads until ctx ends. Handle gets no event after that.
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

// follows reports whether a Lease is one of a selected operator.
func (f *Follower) follows(name string) bool {
	if f.Shard != nil && !f.Shard.Empty() {
		return name == lease.Name(f.Controller, f.Shard)
	}
	return ofController(name, f.Controller)
}

var ofShard = regexp.MustCompile("^-[0-9a-f]{8}$")

// ofController reports whether a Lease belongs to a controller name: to the operator for everything, or to one of its
// shards.
func ofController(name, controller string) bool {
	shard, found := strings.CutPrefix(name, controller)
	return found && (shard == "" || ofShard.MatchString(shard))
}

// see passes the announcement of a Lease to its reader. It starts the reader with the first announcement.
func (f *Follower) see(ctx context.Context, running *sync.WaitGroup, l *coordinationv1.Lease) {
	at := announcement{l.Annotations[lease.EventsAddress], l.Annotations[lease.EventsCertificate]}
	if at.address == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if r := f.readers[l.Name]; r != nil {
		r.move(at)
		return
	}
	r := f.reader(l.Name, at)
	f.readers[l.Name] = r
	running.Go(func() { r.run(ctx) })
}
