package notify

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/dynamic"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/bucket"
	"github.com/rancher/helm-locker/pkg/follow"
	"github.com/rancher/helm-locker/pkg/message"
)

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

// before runs source until ctx ends, and ends the sinks only then: an event is sent before its position is stored.
func before(ctx context.Context, source func(context.Context) error, sinks ...func(context.Context) error) error {
	sending, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	parts, sending := errgroup.WithContext(sending)
	for _, sink := range sinks {
		parts.Go(func() error { return sink(sending) })
	}
	err := source(ctx)
	stop()
	return errors.Join(err, parts.Wait())
}
