package policies

import (
	"sync/atomic"
	"testing"

	"github.com/sirupsen/logrus/hooks/test"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// A plan names a missing permission, and goes on by itself when the labels can be read.
func TestLabelsOfNamespacesAreReadAfterARefusal(t *testing.T) {
	scheme := fake.NewTestScheme()
	check.NoError(t, metav1.AddMetaToScheme(scheme))
	client := fake.NewSimpleMetadataClient(scheme, &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: "apps", Labels: map[string]string{"team": "web"}},
	})
	var granted atomic.Bool
	answer := make(chan struct{}) // closed when the API server may answer
	client.PrependReactor("list", "namespaces", func(clienttesting.Action) (bool, runtime.Object, error) {
		<-answer
		if granted.Load() {
			return false, nil, nil
		}
		return true, nil, apierrors.NewForbidden(namespacesGVR.GroupResource(), "", nil)
	})
	log, _ := test.NewNullLogger()
	events := make(chan struct{}, 100)
	n := namespaces{client: client, log: log, changed: func() { events <- struct{}{} }}
	defer n.wait()
	defer n.drop()
	_, known, err := n.labels(t.Context())
	check.Must(t, !known && err == nil, "before an answer: %v, %v", known, err)
	close(answer)
	<-events
	_, known, err = n.labels(t.Context())
	check.Must(t, !known && apierrors.IsForbidden(err), "after a refusal: %v, %v", known, err)
	granted.Store(true)
	for {
		<-events
		if of, known, _ := n.labels(t.Context()); known {
			check.Equal(t, of["apps"]["team"], "web", "the labels are %v", of)
			return
		}
	}
}
