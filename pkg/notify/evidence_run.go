package notify

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/dynamic"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/bucket"
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
	// Bucket gets copies of the files; there are none when its URL is empty. The directory and the cluster are those
	// above, and the transport is made for BucketCAFile, a PEM file of authorities to trust beside those of the system.
	Bucket       bucket.Options
	BucketCAFile string
}

// keeping is the part of the process that keeps evidence; a nil one keeps none.
type keeping struct {
	sink   *sink
	states *stateReader
	copier *bucket.Copier // nil without a bucket
}

// keep has the connections of a follower kept as evidence, if the options ask for it.
func (o *RunOptions) keep(following *follow.Options, observer bucket.Observer) (*keeping, error) {
	switch {
	case o.Evidence.Directory != "":
	case o.Evidence.Bucket.URL != "":
		return nil, errors.New("a bucket takes copies of files: set a directory for them (--evidence-dir)")
	default:
		return nil, nil
	}
	copier, err := o.copier(observer)
	if err != nil {
		return nil, err
	}
	sink, err := newSink(o.Evidence, o.Clock, o.Log)
	if err != nil {
		return nil, err
	}
	if copier != nil {
		sink.ended = copier.Wake
	}
	client, err := dynamic.NewForConfig(following.Config)
	if err != nil {
		return nil, fmt.Errorf("client of HelmReleases: %w", err)
	}
	helmReleases := client.Resource(v1alpha1.SchemeGroupVersion.WithResource("helmreleases")).Namespace(o.Namespace)
	following.Connected, following.Alive = sink.Connected, sink.Alive
	return &keeping{sink, newStateReader(helmReleases, sink, o.Log), copier}, nil
}

// handle keeps an event, and calls reached when it is on the disk: the next process begins there.
func (k *keeping) handle(lease string, at message.Position, m *message.Message, reached func()) {
	if k == nil {
		reached()
		return
	}
	k.sink.Handle(lease, at, m, reached)
}

// run keeps events until ctx ends, and then those that wait. The last file is copied when it has ended.
func (k *keeping) run(ctx context.Context) error {
	if k == nil {
		return nil
	}
	if k.copier == nil {
		return k.write(ctx)
	}
	return before(ctx, k.write, func(ctx context.Context) error { k.copier.Run(ctx); return nil })
}

func (k *keeping) write(ctx context.Context) error {
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
