package watch

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/rancher/helm-locker/pkg/rawjson"
)

// Client lists and watches resources of any kind, without decoding their objects: it returns them as Live. It is safe
// for concurrent use.
type Client struct{ rest rest.Interface }

// NewClient returns a client for the API server of config.
func NewClient(config *rest.Config) (*Client, error) {
	config = dynamic.ConfigFor(config)
	config.AcceptContentTypes = runtime.ContentTypeJSON
	config.GroupVersion = nil
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("client of the API server: %w", err)
	}
	return &Client{rest: client}, nil
}

func (c *Client) get(
	ctx context.Context, gvr schema.GroupVersionResource, o *metav1.ListOptions,
) (io.ReadCloser, error) {
	path := []string{"/apis", gvr.Group, gvr.Version}
	if gvr.Group == "" {
		path = []string{"/api", gvr.Version}
	}
	request := c.rest.Get().AbsPath(append(path, gvr.Resource)...)
	return request.SpecificallyVersionedParams(o, metav1.ParameterCodec, metav1.Unversioned).Stream(ctx)
}

// List passes each object of a resource to each as the answer of the API server arrives: one object is in memory at a
// time, whatever the size of a page. It returns the metadata of the list, and ends with the first error of each.
func (c *Client) List(
	ctx context.Context, gvr schema.GroupVersionResource, o metav1.ListOptions, each func(*Live) error,
) (metav1.ListMeta, error) {
	body, err := c.get(ctx, gvr, &o)
	if err != nil {
		return metav1.ListMeta{}, err
	}
	list, err := readList(body, each)
	if closed := body.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return metav1.ListMeta{}, fmt.Errorf("read a list of %s: %w", gvr.Resource, err)
	}
	return list, nil
}

// Watch watches the objects of a resource in all namespaces.
func (c *Client) Watch(
	ctx context.Context, gvr schema.GroupVersionResource, o metav1.ListOptions,
) (apiwatch.Interface, error) {
	o.Watch = true
	body, err := c.get(ctx, gvr, &o)
	if err != nil {
		return nil, err
	}
	return apiwatch.NewStreamWatcher(&events{Closer: body, lines: bufio.NewReader(body)},
		apierrors.NewClientErrorReporter(http.StatusInternalServerError, http.MethodGet, "ClientWatchDecoding")), nil
}

// events reads the events of a watch; API servers write each on its own line.
type events struct {
	io.Closer
	lines *bufio.Reader
}

// Close ends a running Decode.
func (e *events) Close() { _ = e.Closer.Close() }

// Decode returns the next event.
func (e *events) Decode() (apiwatch.EventType, runtime.Object, error) {
	line, err := e.lines.ReadBytes('\n')
	if errors.Is(err, io.EOF) && len(bytes.TrimSpace(line)) > 0 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return "", nil, err
	}
	kind, text, err := eventOf(line)
	if err != nil {
		return "", nil, fmt.Errorf("read an event of a watch: %w", err)
	}
	if kind == apiwatch.Error {
		status := &metav1.Status{}
		err = json.Unmarshal(text, status)
		return kind, status, err
	}
	live, err := newLive(text, metav1.TypeMeta{})
	return kind, live, err
}

// eventOf returns the type of an event and the text of its object.
func eventOf(line []byte) (kind apiwatch.EventType, object []byte, err error) {
	_, err = rawjson.Walk(line, rawjson.Space(line, 0), func(name []byte, at int) (int, error) {
		end, err := rawjson.Skip(line, at)
		if err != nil {
			return end, err
		}
		switch string(name) {
		case "type":
			err = json.Unmarshal(line[at:end], &kind)
		case "object":
			object = line[at:end]
		}
		return end, err
	})
	return kind, object, err
}
