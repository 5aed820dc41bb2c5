package enforce

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/rancher/helm-locker/pkg/release"
)

// patchServer is an API server as far as patches go, and marks: it tells when one has begun, and reads its body then.
type patchServer struct {
	began  chan struct{} // a patch has arrived, and its body is to be read
	bodies chan []byte
	status int           // in place of reading the body, if it is not 0
	answer chan struct{} // closed when a patch may be answered; nil if at once
	addrs  chan string
}

func newPatchServer() *patchServer {
	return &patchServer{began: make(chan struct{}, 10), bodies: make(chan []byte, 10), addrs: make(chan string, 10)}
}

func (s *patchServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.began <- struct{}{}
	s.addrs <- r.RemoteAddr
	w.Header().Set("Content-Type", "application/json")
	if s.status != 0 {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(s.status)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.bodies <- nil
		return
	}
	s.bodies <- body
	if s.answer != nil {
		<-s.answer
	}
	if r.Method == http.MethodPatch && !isPatch(body) {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	_, _ = w.Write([]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web","resourceVersion":"6"}}`))
}

// isPatch says whether a body is one for an API server: a mapping, in JSON or YAML.
func isPatch(body []byte) bool {
	var patch map[string]any
	return yaml.Unmarshal(body, &patch) == nil || json.Unmarshal(body, &patch) == nil
}

// earlyKit is a revert whose check is answered when the test says so, and what it is written with.
type earlyKit struct {
	*testing.T
	*writer
	server *patchServer
	lists  *lister
	locked *metav1.PartialObjectMetadata
}

// newEarlyKit returns a kit whose records are, when the check is answered, the given ones beside the locked one.
func newEarlyKit(t *testing.T, server *patchServer, protocol string, now ...*metav1.PartialObjectMetadata) *earlyKit {
	t.Helper()
	s := httptest.NewUnstartedServer(server)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	config := &rest.Config{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true, NextProtos: []string{protocol}}}
	accounts, err := NewAccounts(config, false)
	if err != nil {
		t.Fatal(err)
	}
	accounts.early.patience = time.Hour
	locked := secret("2", "u2", "20", "deployed")
	k := &earlyKit{T: t, server: server, locked: locked}
	k.lists = &lister{items: append(now, locked), gate: make(chan struct{})}
	prover := k.lists.prover(Omit{})
	t.Cleanup(prover.Close)
	e := &Enforcer{prover: prover, accounts: accounts, writer: &writer{prover: prover}}
	if k.writer, err = e.as(drifted().Object); err != nil {
		t.Fatal(err)
	}
	return k
}

func (k *earlyKit) record() release.Record { return recordOf(k.T, k.locked) }

// revert begins a revert. Its outcome comes later.
func (k *earlyKit) revert(ctx context.Context, how types.PatchType) (outcome <-chan error) {
	r := drifted()
	r.Check, r.Foreign = newCheck(ctx, k.prover, k.record()), true
	done := make(chan error, 1)
	go func() {
		var err error
		if how == types.ApplyPatchType {
			_, err = k.apply(ctx, r, false)
		} else {
			_, err = k.merge(ctx, r, "helm", false)
		}
		done <- err
	}()
	return done
}

// unanswered returns a revert whose check is under way.
func unanswered() *Revert { return &Revert{Check: &Check{done: make(chan struct{})}, Foreign: true} }

var (
	protocols = []string{"http/1.1", "h2"}
	patches   = []types.PatchType{types.MergePatchType, types.ApplyPatchType}
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
