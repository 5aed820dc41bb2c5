package watch

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// Client lists and watches resources of any kind, without decoding their objects: they come as Live.
// It is safe for concurrent use.
type Client struct {
	rest   rest.Interface
	params runtime.ParameterCodec
}

// NewClient returns a client for the API server of config.
func NewClient(config *rest.Config) (*Client, error) {
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	config.GroupVersion = nil
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, metav1.Unversioned)
	config.NegotiatedSerializer = newSerializers(scheme)
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("client of the API server: %w", err)
	}
	return &Client{rest: client, params: runtime.NewParameterCodec(scheme)}, nil
}

func (c *Client) get(gvr schema.GroupVersionResource, namespace string, o *metav1.ListOptions) *rest.Request {
	path := []string{"/apis", gvr.Group, gvr.Version}
	if gvr.Group == "" {
		path = []string{"/api", gvr.Version}
	}
	if namespace != "" {
		path = append(path, "namespaces", namespace)
	}
	path = append(path, gvr.Resource)
	return c.rest.Get().AbsPath(path...).SpecificallyVersionedParams(o, c.params, metav1.Unversioned)
}

// Watch watches the objects of a resource.
func (c *Client) Watch(
	ctx context.Context, gvr schema.GroupVersionResource, o metav1.ListOptions,
) (apiwatch.Interface, error) {
	o.Watch = true
	return c.get(gvr, "", &o).Watch(ctx)
}
