package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// NewMetadataClient returns a client for the metadata of objects. It adds two checks to client-go's. It rejects a
// namespace or name that is no segment of a path: client-go joins the segments without a check, and a namespace "../x"
// would lead to another resource. It rejects an answer larger than its objects can be.
func NewMetadataClient(config *rest.Config) (metadata.Interface, error) {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return boundedAnswers{next} })
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("metadata client: %w", err)
	}
	return checkedClient{client}, nil
}

// checkSegments returns an error if one of some namespaces and names cannot be a segment of a path.
func checkSegments(segments ...string) error {
	for _, segment := range segments {
		if problems := rest.IsValidPathSegmentName(segment); len(problems) > 0 {
			return fmt.Errorf("%q is no namespace and no name: it %s", segment, strings.Join(problems, ", "))
		}
	}
	return nil
}

// checkedClient is a read-only client that checks segments of a path.
type checkedClient struct{ metadata.Interface }

func (c checkedClient) Resource(gvr schema.GroupVersionResource) metadata.Getter {
	all := c.Interface.Resource(gvr)
	return checkedResource{all, all, ""}
}

// checkedResource checks every read. boundedAnswers refuses the other methods of client-go's.
type checkedResource struct {
	metadata.ResourceInterface
	all       metadata.Getter
	namespace string
}

func (r checkedResource) Namespace(namespace string) metadata.ResourceInterface {
	return checkedResource{r.all.Namespace(namespace), r.all, namespace}
}

func (r checkedResource) Get(
	ctx context.Context, name string, o metav1.GetOptions, subresources ...string,
) (*metav1.PartialObjectMetadata, error) {
	if err := checkSegments(r.namespace, name); err != nil {
		return nil, err
	}
	return r.ResourceInterface.Get(ctx, name, o, subresources...)
}

func (r checkedResource) List(ctx context.Context, o metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	if err := checkSegments(r.namespace); err != nil {
		return nil, err
	}
	return r.ResourceInterface.List(ctx, o)
}

func (r checkedResource) Watch(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
	if err := checkSegments(r.namespace); err != nil {
		return nil, err
	}
	return r.ResourceInterface.Watch(ctx, o)
}

const (
	// maxMetadata is how large the metadata of one object can be: etcd takes 1.5 MiB.
	maxMetadata = 2 << 20
	// maxAnswer bounds a list without a limit: those of namespaces and of definitions have none.
	maxAnswer = 128 << 20
)

// boundedAnswers lets reads pass, and bounds the answers to all but watches, a list by its limit. client-go reads an
// answer into memory before it decodes it, and bounds the events of a watch itself.
type boundedAnswers struct{ next http.RoundTripper }

func (b boundedAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		return nil, errors.New("the client for metadata only reads")
	}
	response, err := b.next.RoundTrip(r)
	query := r.URL.Query()
	if err != nil || query.Get("watch") == "true" {
		return response, err
	}
	most := int64(maxAnswer)
	if limit, err := strconv.ParseInt(query.Get("limit"), 10, 32); err == nil && limit > 0 {
		most = min(most, limit*maxMetadata)
	}
	response.Body = &boundedBody{response.Body, most}
	return response, nil
}

// boundedBody is a body with a limit of left bytes; more is an error.
type boundedBody struct {
	io.ReadCloser
	left int64
}

func (b *boundedBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if b.left -= int64(n); b.left < 0 {
		return 0, errors.New("the API server's answer is larger than the objects that were asked for can be")
	}
	return n, err
}
