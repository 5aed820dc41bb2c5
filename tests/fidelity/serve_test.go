package fidelity

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/rancher/helm-locker/tests/lib/cluster"
)

// serve answers requests with JSON over TLS on a loopback port, as the API server wants it of webhooks; a nil
// answer is an error. It ends with the test.
func (w *fixture) serve(answer func(body []byte) any) *httptest.Server {
	w.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			http.Error(response, err.Error(), http.StatusBadRequest)
			return
		}
		content := answer(body)
		if content == nil {
			http.Error(response, "not understood", http.StatusBadRequest)
			return
		}
		response.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(response).Encode(content); err != nil {
			w.Logf("a webhook could not answer: %v", err)
		}
	}))
	w.Cleanup(server.Close)
	return server
}

// certificateOf returns what a client has to trust, as PEM.
func certificateOf(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

func asObject(content map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: content}
}

// asEvent returns the object of a watch event; nil when it has none that exists.
func asEvent(event watch.Event) *unstructured.Unstructured {
	u, ok := event.Object.(*unstructured.Unstructured)
	if !ok || event.Type == watch.Deleted {
		return nil
	}
	return u
}

// to returns the writes of the operator to the object of a name that the API server took.
func (w *fixture) to(name string) []cluster.Request {
	return slices.DeleteFunc(w.landed(), func(r cluster.Request) bool { return !strings.HasSuffix(r.Path, "/"+name) })
}
