package dial

import (
	"net/http"
	"testing"

	"k8s.io/client-go/rest"
)

// A few requests at a time are made for speed, and more for what they cost.
func TestForRequests(t *testing.T) {
	held, arrived := make(chan struct{}), make(chan string)
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" || len(r.Header.Values("Authorization")) != 1 {
			t.Errorf("sent by %v", r.Header)
		}
		if r.URL.Path == "/held" {
			arrived <- r.Proto
			<-held
		}
		tellProto(t, w, r)
	})
	config := configOf(server)
	config.BearerToken = "secret"
	config, err := ForRequests(config)
	if err != nil {
		t.Fatal(err)
	}
	want := func(proto string) {
		t.Helper()
		// Every client is made anew: what they all have under way counts.
		if got, err := get(t, config, server.URL); got != proto || err != nil {
			t.Errorf("by %q in place of %q: %v", got, proto, err)
		}
	}
	want("HTTP/1.1")
	ended := make(chan error)
	for range few {
		go func() {
			_, err := get(t, config, server.URL+"/held")
			ended <- err
		}()
		if got := <-arrived; got != "HTTP/1.1" {
			t.Errorf("one of a few by %q", got)
		}
	}
	want("HTTP/2.0")
	close(held)
	for range few {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	want("HTTP/1.1")
}

func TestForRequestsTellsWhatIsWrong(t *testing.T) {
	_, err := ForRequests(&rest.Config{Host: "https://localhost", TLSClientConfig: rest.TLSClientConfig{CAFile: "/nowhere"}})
	if err == nil {
		t.Error("no error")
	}
}
