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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/rancher/helm-locker/pkg/drift"
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
	ctx context.Context, gvr schema.GroupVersionResource, namespace string, o *metav1.ListOptions,
) (io.ReadCloser, error) {
	path := []string{"/apis", gvr.Group, gvr.Version}
	if gvr.Group == "" {
		path = []string{"/api", gvr.Version}
	}
	if namespace != "" {
		if err := checkSegments(namespace); err != nil {
			return nil, err
		}
		path = append(path, "namespaces", namespace)
	}
	request := c.rest.Get().AbsPath(append(path, gvr.Resource)...)
	return request.SpecificallyVersionedParams(o, metav1.ParameterCodec, metav1.Unversioned).Stream(ctx)
}

// List passes each object of a resource to each as the answer of the API server arrives: one object is in memory at a
// time, whatever the size of a page. It returns the metadata of the list, and ends with the first error of each. An
// empty namespace stands for all.
func (c *Client) List(
	ctx context.Context, gvr schema.GroupVersionResource, namespace string, o metav1.ListOptions,
	each func(*Live) error,
) (metav1.ListMeta, error) {
	body, err := c.get(ctx, gvr, namespace, &o)
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
	body, err := c.get(ctx, gvr, "", &o)
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

// Live is a live object as sent by the API server: undecoded JSON text. Most events only change a status, and a digest
// of the text shows that without decoding. Namespace, name and resourceVersion of the metadata are set, and
// GetAnnotations works; for all other fields decode it.
type Live struct {
	metav1.ObjectMeta
	kind        metav1.TypeMeta // of an object whose text does not tell
	text        []byte
	annotations []byte // of text; nil for none
}

// newLive returns the object of a text. The kind is given because the text may lack it.
func newLive(text []byte, kind metav1.TypeMeta) (*Live, error) {
	l := &Live{text: text, kind: kind}
	_, err := rawjson.Walk(text, rawjson.Space(text, 0), func(name []byte, at int) (int, error) {
		if string(name) == "metadata" {
			return rawjson.Walk(text, at, l.readMetadata)
		}
		return rawjson.Skip(text, at)
	})
	if err != nil {
		return nil, fmt.Errorf("read the metadata of an object: %w", err)
	}
	return l, nil
}

func (l *Live) readMetadata(name []byte, at int) (end int, err error) {
	var value []byte
	switch string(name) {
	case "namespace":
		value, end, err = rawjson.String(l.text, at)
		l.Namespace = string(value)
	case "name":
		value, end, err = rawjson.String(l.text, at)
		l.Name = string(value)
	case "resourceVersion":
		value, end, err = rawjson.String(l.text, at)
		l.ResourceVersion = string(value)
	case "annotations":
		end, err = rawjson.Skip(l.text, at)
		l.annotations = l.text[at:end]
	default:
		end, err = rawjson.Skip(l.text, at)
	}
	return end, err
}

// largeObject is the size in bytes of JSON from which on an object is large. Hardly any is, except for definitions and
// dashboards.
const largeObject = 64 << 10

// Large reports whether the object is large.
func (l *Live) Large() bool { return len(l.text) > largeObject }

// IsLarge reports whether a decoded object is large, by the size of its texts.
func IsLarge(obj *unstructured.Unstructured) bool { return textsOf(obj.Object) > largeObject }

func textsOf(value any) (bytes int) {
	switch v := value.(type) {
	case map[string]any:
		for key, member := range v {
			bytes += len(key) + textsOf(member)
		}
	case []any:
		for _, element := range v {
			bytes += 1 + textsOf(element)
		}
	case string:
		bytes = len(v)
	}
	return bytes
}

// Digest returns the digest of the object, as hasher.Digest does for the decoded one, without decoding it.
func (l *Live) Digest(hasher drift.Hasher) (uint64, error) { return hasher.DigestJSON(l.text) }

// Decode returns the whole object, a new one with every call.
func (l *Live) Decode() (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if utiljson.Unmarshal(l.text, &u.Object) != nil || u.Object == nil {
		return nil, fmt.Errorf("%s/%s: %w", l.Namespace, l.Name, drift.ErrUndecodable)
	}
	if u.GetKind() == "" {
		u.SetAPIVersion(l.kind.APIVersion)
		u.SetKind(l.kind.Kind)
	}
	return u, nil
}

// GetAnnotations decodes the annotations of the object; nil for none, and for invalid ones.
func (l *Live) GetAnnotations() map[string]string {
	var annotations map[string]string
	if json.Unmarshal(l.annotations, &annotations) != nil {
		return nil
	}
	return annotations
}

// GetObjectKind returns an empty kind: callers know the requested one.
func (l *Live) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns the object itself with metadata of its own: no caller changes its text.
func (l *Live) DeepCopyObject() runtime.Object {
	c := *l
	l.DeepCopyInto(&c.ObjectMeta)
	return &c
}
