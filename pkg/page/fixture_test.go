package page

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/fixture"
)

// store is a cache of HelmReleases.
type store struct {
	mu    sync.Mutex
	all   map[string]*v1alpha1.HelmRelease
	reads atomic.Int32 // of single ones
}

func (s *store) Get(namespace, name string) (*v1alpha1.HelmRelease, error) {
	s.reads.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if hr := s.all[namespace+"/"+name]; hr != nil {
		return hr, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "helmreleases"}, name)
}

func (s *store) List(string, labels.Selector) ([]*v1alpha1.HelmRelease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*v1alpha1.HelmRelease
	for _, hr := range s.all {
		all = append(all, hr)
	}
	return all, nil
}

func (s *store) set(name, owner string, change ...func(*v1alpha1.HelmRelease)) {
	hr := &v1alpha1.HelmRelease{}
	hr.Namespace, hr.Name = "locker", name
	hr.Spec.Release = v1alpha1.ReleaseReference{Namespace: "apps", Name: name}
	hr.Annotations = map[string]string{v1alpha1.ManagedByAnnotation: owner}
	for _, f := range change {
		f(hr)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all["locker/"+name] = hr
}

func (s *store) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, "locker/"+name)
}

type served struct {
	*Page
	*testing.T
	store *store
	ready chan struct{}
	url   string
}

// serve serves a page on loopback until the end of the test.
func serve(t *testing.T, change ...func(*Page)) *served {
	t.Helper()
	s := &served{T: t, store: &store{all: map[string]*v1alpha1.HelmRelease{}}, ready: make(chan struct{})}
	s.Page = New(Options{Namespace: "locker", ControllerName: "me", Releases: s.store, Ready: s.ready,
		Clock: clock.RealClock{}, Log: fixture.Quiet(),
		Lease: func(_ context.Context, name string) (coordinationv1.LeaseSpec, error) {
			return coordinationv1.LeaseSpec{}, apierrors.NewNotFound(coordinationv1.Resource("leases"), name)
		}})
	s.Viewers = knows(func(authorizationv1.ResourceAttributes) bool { return true })
	for _, f := range change {
		f(s.Page)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check.NoError(t, err)
	s.url = "http://" + listener.Addr().String() + "/"
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			check.Report(t, err)
		case <-time.After(30 * time.Second):
			t.Error("the page did not end")
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return s
}

// answered is an answer that was read.
type answered struct {
	status int
	header http.Header
	body   string
}

func (s *served) request(method, path string) *http.Request {
	s.Helper()
	request, err := http.NewRequestWithContext(s.Context(), method, s.url+path, nil)
	check.NoError(s.T, err)
	request.Header.Set("Authorization", "Bearer janes")
	return request
}

func (s *served) ask(method, path string, change ...func(*http.Request)) answered {
	s.Helper()
	request := s.request(method, path)
	for _, f := range change {
		f(request)
	}
	response, err := http.DefaultClient.Do(request)
	check.NoError(s.T, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	check.NoError(s.T, err)
	return answered{response.StatusCode, response.Header, string(body)}
}

// events returns a function that waits for the next event of a new stream.
func (s *served) events(change ...func(*http.Request)) (next func() (event, data string)) {
	s.Helper()
	request := s.request(http.MethodGet, "events")
	for _, f := range change {
		f(request)
	}
	response, err := http.DefaultClient.Do(request)
	check.NoError(s.T, err)
	s.Cleanup(func() { _ = response.Body.Close() })
	if response.StatusCode != http.StatusOK {
		s.Fatalf("the stream is refused: %s", response.Status)
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	return func() (event, data string) {
		s.Helper()
		for lines.Scan() {
			switch name, value, _ := strings.Cut(lines.Text(), ": "); name {
			case "event":
				event = value
			case "data":
				if event != "beat" && event != "chart" {
					return event, value
				}
			}
		}
		s.Fatalf("the stream ended: %v", lines.Err())
		return "", ""
	}
}

func (s *served) expect(next func() (string, string), event, part string) {
	s.Helper()
	got, data := next()
	if got != event || !strings.Contains(data, part) {
		s.Fatalf("got %s %s, want %s with %s", got, data, event, part)
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline, tick := time.NewTimer(time.Minute), time.NewTicker(5*time.Millisecond)
	defer deadline.Stop()
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline.C:
			t.Fatalf("waited in vain until %s", what)
		case <-tick.C:
		}
	}
}
