package enforce

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/rancher/helm-locker/tests/lib/check"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// front answers every request with an empty ConfigMap, and counts the connections and in whose name requests come.
type front struct {
	mu          sync.Mutex
	connections int
	users       map[string]int
}

func (f *front) start(t *testing.T) *rest.Config {
	t.Helper()
	f.users = map[string]int{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.users[r.Header.Get("Impersonate-User")]++
		f.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, err := w.Write([]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`))
		check.Report(t, err)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			f.mu.Lock()
			f.connections++
			f.mu.Unlock()
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	// With a dialer of its own client-go takes no two configurations for alike.
	dialer := &net.Dialer{}
	return &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true},
		Dial: dialer.DialContext}
}

// However many accounts write, they share connections.
func TestAccountsShareConnections(t *testing.T) {
	var f front
	config := f.start(t)
	accounts, err := NewAccounts(config, true)
	check.NoError(t, err)
	const many = 768
	for round := range 2 {
		for i := range many {
			account := fmt.Sprintf("system:serviceaccount:apps-%d:deployer", i)
			client, err := accounts.client(account)
			check.NoError(t, err)
			_, err = client.Resource(configMaps).Namespace("apps").Get(t.Context(), "a", metav1.GetOptions{})
			check.NoError(t, err)
			f.mu.Lock()
			check.Must(t, f.users[account] == round+1, "%s was seen %d times after round %d", account, f.users[account], round)
			f.mu.Unlock()
		}
	}
	check.That(t, f.connections <= 2, "%d connections for %d accounts", f.connections, many)
	check.That(t, len(f.users) == many, "%d users", len(f.users))
}

// Where an account is required, an object without one is not written, by whatever way.
func TestNothingIsWrittenWithoutAnAccount(t *testing.T) {
	var f front
	config := f.start(t)
	accounts, err := NewAccounts(config, true)
	check.NoError(t, err)
	_, err = accounts.client("")
	check.Must(t, errors.Is(err, errNoAccount), "error is %v", err)
	e := &Enforcer{accounts: accounts, writer: &writer{client: accounts.own}}
	r := &Revert{Object: Object{GVR: configMaps}}
	_, err = e.DryRun(t.Context(), r)
	check.That(t, errors.Is(err, errNoAccount), "dry run: %v", err)
	_, err = e.Revert(t.Context(), "set", r)
	check.That(t, errors.Is(err, errNoAccount), "revert: %v", err)
	_, err = e.as(r.Object)
	check.That(t, errors.Is(err, errNoAccount), "any other write: %v", err)
	check.Equal(t, len(f.users), 0, "requests were made: %v", f.users)
}
