package process

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// served runs a server of HTTP/2 until the test ends, and returns a failover to it.
func served(t *testing.T, handler http.HandlerFunc) (*failover, *rest.Config) {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	config, err := failingOver(&rest.Config{Host: server.URL, BearerToken: "token",
		TLSClientConfig: rest.TLSClientConfig{CAData: ca}}, quiet())
	check.NoError(t, err)
	f, ok := config.Transport.(*failover)
	if !ok {
		t.Fatalf("the transport is a %T", config.Transport)
	}
	return f, config
}

// at returns a request to the API server of a configuration.
func at(t *testing.T, config *rest.Config, path string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host+path, nil)
	check.NoError(t, err)
	return r
}

func TestAStreamThatFallsSilentEnds(t *testing.T) {
	f, config := served(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		if _, err := io.WriteString(w, strings.TrimPrefix(r.URL.Path, "/")); err != nil {
			t.Error(err)
		}
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	f.silence = impatient
	for _, said := range []string{"", "event"} {
		ctx, cancel := context.WithCancel(t.Context())
		tooLong := time.AfterFunc(10*time.Second, cancel)
		text, err := do(f, at(t, config, "/"+said).WithContext(ctx))
		tooLong.Stop()
		cancel()
		var timeout net.Error
		// Client-go takes that for the end of a watch.
		if text != said || !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Errorf("%q, then %v", text, err)
		}
	}
}

func TestAnotherConnectionReallyIsAnother(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	held := make(chan struct{})
	defer close(held)
	f, config := served(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Proto != "HTTP/2.0" || r.Header.Get("Authorization") != "Bearer token" {
			t.Errorf("sent by %s with %v", r.Proto, r.Header)
		}
		mu.Lock()
		seen[r.RemoteAddr]++
		first := len(seen) == 1
		mu.Unlock()
		if first && r.URL.Path == "/hangs" {
			select {
			case <-held:
			case <-r.Context().Done():
			}
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	f.timeout = 200 * time.Millisecond
	client, err := rest.HTTPClientFor(config)
	check.NoError(t, err)
	for _, path := range []string{"/quick", "/quick", "/hangs", "/quick"} {
		response, err := client.Do(at(t, config, path))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusNoContent {
			t.Errorf("%s: %s, %v", path, response.Status, err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(seen) != 2 {
		t.Errorf("requests by connection: %v", seen)
	}
}

func TestFailingOverTellsWhatIsWrong(t *testing.T) {
	for _, config := range []*rest.Config{
		{Host: "https://localhost", TLSClientConfig: rest.TLSClientConfig{CAFile: "/nowhere"}},
		{Host: "https://%zz"},
	} {
		if _, err := failingOver(config, quiet()); err == nil {
			t.Errorf("no error for %s", config.Host)
		}
	}
}
