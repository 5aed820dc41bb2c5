package proof

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
)

// metadataPage is the size of a page. The annotations and labels of one object may have a megabyte each. Helm keeps
// ten records of a release, unless configured otherwise: those are one page, and so one request.
const metadataPage = 20

// ListMetadata lists objects page by page and returns the results of take for the metadata of each. It keeps nothing
// else of a page, and take must not keep it either. The list ends with the first error of take.
//
// Without a resourceVersion in options the answer is consistent, and no older than the call: the first page fixes the
// revision of the cluster for all pages. When that revision is compacted before the last page, the list is restarted.
func ListMetadata[T any](ctx context.Context, client metadata.ResourceInterface, options metav1.ListOptions,
	take func(*metav1.PartialObjectMetadata) (T, error),
) ([]T, error) {
	var taken []T
	options.Limit = metadataPage
	for {
		page, err := client.List(ctx, options)
		if apierrors.IsResourceExpired(err) && options.Continue != "" {
			taken, options.Continue = nil, ""
			continue
		}
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			one, err := take(&page.Items[i])
			if err != nil {
				return nil, err
			}
			taken = append(taken, one)
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return taken, nil
		}
	}
}
