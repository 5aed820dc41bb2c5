package notify

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/rancher/helm-locker/pkg/follow"
	"github.com/rancher/helm-locker/pkg/message"
	"github.com/rancher/helm-locker/pkg/process"
	"github.com/rancher/helm-locker/pkg/serving"
	"github.com/rancher/helm-locker/pkg/version"
)

// Run sends the events of operators to the receivers until ctx ends. It then sends the rest for some seconds, and
// returns nil.
func Run(ctx context.Context, o RunOptions) error {
	if o.State == "" {
		o.State = o.ControllerName + "-notifications"
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	shard, err := labels.Parse(o.ShardSelector)
	if err != nil {
		return fmt.Errorf("shard selector %q: %w", o.ShardSelector, err)
	}
	counters := newCounters()
	notifier, err := o.notifier(counters)
	if err != nil {
		return err
	}
	config, err := o.ClientConfig.ClientConfig()
	if err != nil {
		return fmt.Errorf("client configuration: %w", err)
	}
	config.UserAgent = "helm-locker-notifications/" + version.Version
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	o.Log.Infof("helm-locker %s, notifications of %s", version.String(), o.ControllerName)
	kept := newState(client.CoreV1().ConfigMaps(o.Namespace), o.State, o.Clock, o.Log)
	resume, err := kept.load(ctx)
	if err != nil {
		return ending(ctx, err)
	}
	following := follow.Options{
		Config: config, Namespace: o.Namespace, Controller: o.ControllerName, Shard: shard, Resume: resume,
		Clock: o.Clock, Log: o.Log,
	}
	keeping, err := o.keep(&following, counters)
	if err != nil {
		return err
	}
	following.Handle = func(lease string, at message.Position, m *message.Message) {
		if m != nil {
			notifier.Send(message.Event{ID: at.String(), Message: m})
			counters.missed(m.Lost)
		}
		keeping.handle(lease, at, m, func() { kept.reached(lease, at) })
	}
	follower := follow.New(following)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return process.Listeners{
			MetricsAddress: o.MetricsAddress, HealthAddress: o.HealthAddress, Log: o.Log,
			Metrics: serving.ForHosts(nil, "", counters.handler()),
			Ready:   func() error { return errors.Join(listed(follower), keeping.ready()) },
		}.Run(ctx)
	})
	group.Go(func() error {
		return before(ctx, follower.Run,
			func(ctx context.Context) error { notifier.Run(ctx); return nil },
			func(ctx context.Context) error { kept.run(ctx); return nil }, keeping.run)
	})
	return ending(ctx, group.Wait())
}

// notifier returns the notifier of the options. Without receivers, evidence has to be kept.
func (o *RunOptions) notifier(counters *counters) (*Notifier, error) {
	if len(o.URLs) == 0 && o.Evidence.Directory != "" {
		return &Notifier{clock: o.Clock, log: o.Log}, nil
	}
	return New(o.Options, o.Clock, o.Log, counters)
}

// ending returns err, or nil for the error of an ended context.
func ending(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// listed returns an error until the Leases of the operators are known.
func listed(f *follow.Follower) error {
	select {
	case <-f.Listed():
		return nil
	default:
		return errors.New("still reading the Leases of operators")
	}
}
