package proof

import (
	"context"
	"fmt"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// pages is a client whose lists have three pages.
type pages struct {
	metadata.ResourceInterface
	asked []metav1.ListOptions
	// expired is how many requests for the last page fail.
	expired int
}

func (p *pages) List(_ context.Context, o metav1.ListOptions) (*metav1.PartialObjectMetadataList, error) {
	p.asked = append(p.asked, o)
	list := &metav1.PartialObjectMetadataList{}
	at := 0
	if o.Continue != "" {
		at = int(o.Continue[0] - '0')
	}
	if at == 2 && p.expired > 0 {
		p.expired--
		return nil, apierrors.NewResourceExpired("compacted")
	}
	for i := range 2 {
		list.Items = append(list.Items,
			metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(2*at + i)}})
	}
	if at < 2 {
		list.Continue = fmt.Sprint(at + 1)
	}
	return list, nil
}

func nameOf(m *metav1.PartialObjectMetadata) (string, error) { return m.Name, nil }

// A list of records is only consistent if all pages are of one revision: one that expired half-way is read again from
// the start.
func TestPagesAreOfOneRevision(t *testing.T) {
	for expired, requests := range map[int]int{0: 3, 2: 9} {
		p := &pages{expired: expired}
		names, err := ListMetadata(t.Context(), p, metav1.ListOptions{LabelSelector: "a=b"}, nameOf)
		check.That(t, err == nil && slices.Equal(names, []string{"0", "1", "2", "3", "4", "5"}), "%d expired: %v, %v",
			expired, names, err)
		check.That(t, len(p.asked) == requests, "%d expired: %d requests, want %d", expired, len(p.asked), requests)
		for _, o := range p.asked {
			check.That(t, o.Limit == metadataPage && o.LabelSelector == "a=b" && o.ResourceVersion == "",
				"asked for %+v", o)
		}
	}
	p := &pages{expired: 1 << 20}
	_, err := ListMetadata(t.Context(), p, metav1.ListOptions{},
		func(*metav1.PartialObjectMetadata) (int, error) { return 0, fmt.Errorf("no") })
	check.That(t, err != nil && len(p.asked) == 1, "after %d requests: %v", len(p.asked), err)
}
