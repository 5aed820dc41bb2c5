package render

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// lookupServer serves ConfigMaps by a handler, and returns lookups there.
func lookupServer(t *testing.T, handle http.HandlerFunc) *Lookups {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/api/v1", func(w http.ResponseWriter, _ *http.Request) {
		if _, err := w.Write([]byte(`{"kind":"APIResourceList","groupVersion":"v1","resources":[
			{"name":"configmaps/status","kind":"ConfigMap","namespaced":true},
			{"name":"configmaps","kind":"ConfigMap","namespaced":true}]}`)); err != nil {
			t.Error(err)
		}
	})
	mux.HandleFunc("/api/v1/", func(w http.ResponseWriter, r *http.Request) {
		check.That(t, r.Method == http.MethodGet, "a template sends %s %s", r.Method, r.URL)
		handle(w, r)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	client, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: server.URL})
	check.NoError(t, err)
	return NewLookups(client.RESTClient())
}

// A server that does not answer holds no rendering up.
func TestALookupEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	l := lookupServer(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel(errors.New("the user has pressed Ctrl-C"))
		<-r.Context().Done()
	})
	got := l.answer(ctx, lookup{"v1", "ConfigMap", "apps", "shop"})
	check.That(t, strings.Contains(got.Error, "has pressed"), "got %+v", got)
}

// All answers together are bounded.
func TestLookupsAreBounded(t *testing.T) {
	l := lookupServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/namespaces/apps/configmaps/small" {
			_, err := w.Write([]byte(`{}`))
			check.Report(t, err)
			return
		}
		for part := make([]byte, 1<<20); ; {
			if _, err := w.Write(part); err != nil {
				return // the client has enough
			}
		}
	})
	if got := l.answer(t.Context(), lookup{"v1", "ConfigMap", "apps", "small"}); string(got.Content) != "{}" {
		t.Errorf("got %+v", got)
	}
	got := l.answer(t.Context(), lookup{"v1", "ConfigMap", "apps", ""})
	want := "look up ConfigMap: the templates look up more than 32 MiB"
	check.That(t, got.Error == want, "got %q, want %q", got.Error, want)
}
