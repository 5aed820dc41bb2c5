package main

import (
	"context"
	"encoding/json"
	"fmt"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// User agents. The audit log identifies the clients by them.
const (
	agentFloor    = "bench-floor"
	agentBench    = "bench-setup"
	agentTamper   = "bench-tamper"
	agentObserver = "bench-observer"
	agentOperator = "helm-locker/"
)

// client makes requests in one name. Requests to objects carry ready-made bodies, and no answer is decoded.
type client struct {
	kube    kubernetes.Interface
	dynamic dynamic.Interface
}

// newClient returns a client with agent as its user agent. Its typed requests use protobuf, the cheapest encoding.
func newClient(config *rest.Config, agent string) (*client, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = agent
	d, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("dynamic client: %w", err)
	}
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = config.ContentType + ",application/json"
	k, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("typed client: %w", err)
	}
	return &client{kube: k, dynamic: d}, nil
}

func (c *client) to(o object) rest.Interface {
	if o.deployment {
		return c.kube.AppsV1().RESTClient()
	}
	return c.kube.CoreV1().RESTClient()
}

func (c *client) create(ctx context.Context, o object, manager string) error {
	body, err := json.Marshal(o.liveContent())
	if err != nil {
		return fmt.Errorf("encode %s: %w", o.name, err)
	}
	return c.to(o).Post().Namespace(o.namespace).Resource(o.resource()).Param("fieldManager", manager).
		SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Error()
}

func (c *client) delete(ctx context.Context, o object) error {
	return c.to(o).Delete().Namespace(o.namespace).Resource(o.resource()).Name(o.name).Do(ctx).Error()
}

func (c *client) patch(ctx context.Context, o object, kind types.PatchType, body []byte, subresource ...string) error {
	return c.to(o).Patch(kind).Namespace(o.namespace).Resource(o.resource()).Name(o.name).SubResource(subresource...).
		Body(body).Do(ctx).Error()
}

// each calls f for every item, at most width at a time, and returns the first error.
func each[T any](ctx context.Context, width int, items []T, f func(context.Context, T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(width)
	for _, item := range items {
		group.Go(func() error { return f(ctx, item) })
	}
	return group.Wait()
}
