package notify

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/dynamic"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/evidence"
	"github.com/rancher/helm-locker/pkg/follow"
	"github.com/rancher/helm-locker/pkg/message"
)

// EvidenceOptions are for keeping the events as evidence.
type EvidenceOptions struct {
	// Directory gets the files; no evidence is kept when it is empty. One process may write to it at a time.
	Directory string
	// Cluster is the name of the cluster in each line.
	Cluster string
}

// keeping is the part of the process that keeps evidence; a nil one keeps none.
type keeping struct {
	sink   *sink
	states *stateReader
}

// keep has the connections of a follower kept as evidence, if the options ask for it.
func (o *RunOptions) keep(following *follow.Options) (*keeping, error) {
	if o.Evidence.Directory == "" {
		return nil, nil
	}
	sink, err := newSink(o.Evidence, o.Clock, o.Log)
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(following.Config)
	if err != nil {
		return nil, fmt.Errorf("client of HelmReleases: %w", err)
	}
	helmReleases := client.Resource(v1alpha1.SchemeGroupVersion.WithResource("helmreleases")).Namespace(o.Namespace)
	following.Connected, following.Alive = sink.Connected, sink.Alive
	return &keeping{sink, newStateReader(helmReleases, sink, o.Log)}, nil
}

// handle keeps an event, and calls reached when it is on the disk: the next process begins there.
func (k *keeping) handle(lease string, at message.Position, m *message.Message, reached func()) {
	if k == nil {
		reached()
		return
	}
	k.sink.Handle(lease, at, m, reached)
}

// run keeps events until ctx ends, and then those that wait.
func (k *keeping) run(ctx context.Context) error {
	if k == nil {
		return nil
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return k.sink.run(ctx) })
	group.Go(func() error { return k.states.run(ctx) })
	return group.Wait()
}

// ready returns an error while evidence cannot be written.
func (k *keeping) ready() error {
	if k == nil {
		return nil
	}
	return k.sink.Ready()
}

// known continues the watch of a line, and records a refused request.
func (s *sink) known(l *evidence.Line) {
	if l.Type == evidence.Denied && l.Data.HelmRelease != nil && l.Data.Drift != nil {
		key := *l.Data.HelmRelease
		s.states.denied[key] = append(s.states.denied[key], *l.Data.Drift)
	}
	text := l.ID
	if l.Data.Watched != nil {
		text = l.Data.Watched.Position
	}
	at, err := message.ParsePosition(text)
	if l.Lease == "" || err != nil {
		return
	}
	w := s.watches[l.Lease]
	if w == nil {
		w = &watch{}
		s.watches[l.Lease] = w
	}
	w.at = at
	if l.Data.Watched != nil {
		w.proven, w.until = l.Data.Watched.Until, l.Data.Watched.Until
	}
}
