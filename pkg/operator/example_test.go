package operator_test

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/rancher/wrangler/v3/pkg/kubeconfig"
	"golang.org/x/sync/errgroup"

	"github.com/rancher/helm-locker/pkg/notify"
	"github.com/rancher/helm-locker/pkg/operator"
)

// The code of docs/embedding.md, so that it compiles.

func ExampleRun() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	err := operator.Run(ctx, operator.ControllerOptions{
		ClientConfig:   kubeconfig.GetNonInteractiveClientConfig(""), // the service account, in a cluster
		Namespace:      "cattle-helm-system",
		ControllerName: "my-operator",
	})
	if err != nil {
		panic(err)
	}
}

func ExampleRun_everything() {
	log, err := operator.NewLogger(os.Stderr, "info", "json")
	if err != nil {
		panic(err)
	}
	err = operator.Run(context.Background(), operator.ControllerOptions{
		ClientConfig:   kubeconfig.GetNonInteractiveClientConfig(""),
		Namespace:      "cattle-helm-system",
		ControllerName: "my-operator",

		LeaderElection: true,             // of several replicas one writes
		MetricsAddress: "127.0.0.1:8080", // /metrics
		HealthAddress:  ":8081",          // /healthz and /readyz
		SkipCRD:        true,             // another party installs it
		Log:            log,              // a *logrus.Logger
		Events:         true,             // /events, which notifications are made of
	})
	if err != nil {
		panic(err)
	}
}

func ExampleRun_notifications() {
	config := kubeconfig.GetNonInteractiveClientConfig("")
	log, err := operator.NewLogger(os.Stderr, "info", "json")
	if err != nil {
		panic(err)
	}
	group, ctx := errgroup.WithContext(context.Background())
	group.Go(func() error {
		return operator.Run(ctx, operator.ControllerOptions{
			ClientConfig: config, Namespace: "cattle-helm-system", ControllerName: "my-operator",
			MetricsAddress: ":8080", Events: true,
		})
	})
	group.Go(func() error {
		return notify.Run(ctx, notify.RunOptions{
			ClientConfig: config, Namespace: "cattle-helm-system", ControllerName: "my-operator", Log: log,
			Options: notify.Options{
				URLs:      []string{"https://events.example.com/helm-locker"},
				Format:    notify.FormatCloudEvents,
				TokenFile: "/var/run/secrets/events/token",
			},
		})
	})
	if err := group.Wait(); err != nil {
		panic(err)
	}
}
