package watch

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/rancher/helm-locker/tests/lib/check"
)

var (
	secrets    = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// serveMetadata returns a metadata client of an API server with this handler.
func serveMetadata(t *testing.T, answer http.HandlerFunc) metadata.Interface {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	c, err := NewMetadataClient(&rest.Config{Host: server.URL})
	check.NoError(t, err)
	return c
}

func TestHostile_NoNamespaceAndNoNameLeadsElsewhere(t *testing.T) {
	unexpected := func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s %s was asked for", r.Method, r.URL) }
	c := serveMetadata(t, unexpected)
	for _, text := range []string{"..", ".", "../pods", "a/b", "%2e%2e", "../pods/http:mine:8080/proxy"} {
		in, own := c.Resource(secrets).Namespace(text), c.Resource(secrets).Namespace("apps")
		for what, request := range map[string]func() error{
			"list":          func() error { _, err := in.List(t.Context(), metav1.ListOptions{}); return err },
			"watch":         func() error { _, err := in.Watch(t.Context(), metav1.ListOptions{}); return err },
			"get":           func() error { _, err := own.Get(t.Context(), text, metav1.GetOptions{}); return err },
			"get elsewhere": func() error { _, err := in.Get(t.Context(), "x", metav1.GetOptions{}); return err },
			"get a cluster's": func() error {
				_, err := c.Resource(namespaces).Get(t.Context(), text, metav1.GetOptions{})
				return err
			},
			"write": func() error { return own.Delete(t.Context(), "x", metav1.DeleteOptions{}) },
		} {
			err := request()
			check.That(t, err != nil, "%s with %q: no error", what, text)
		}
	}
}

func TestHostile_AnAnswerIsNoLargerThanWhatWasAskedFor(t *testing.T) {
	item := `{"metadata":{"name":"x","annotations":{"large":"` + strings.Repeat("x", 3<<20) + `"}}}`
	list := func(ctx context.Context, limit int64) (int, error) {
		c := serveMetadata(t, func(w http.ResponseWriter, _ *http.Request) {
			reply(t, w, http.StatusOK, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{},"items":[`+
				item+`]}`)
		})
		found, err := c.Resource(secrets).Namespace("apps").List(ctx, metav1.ListOptions{Limit: limit})
		if err != nil {
			return 0, err
		}
		return len(found.Items), nil
	}
	n, err := list(t.Context(), 2)
	check.That(t, n == 1 && err == nil, "3 MiB for two objects: %d items, error %v", n, err)
	_, err = list(t.Context(), 1)
	check.That(t, err != nil && strings.Contains(err.Error(), "larger than"), "3 MiB for one object: error %v", err)
}
