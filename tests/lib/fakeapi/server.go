// Package fakeapi is a small API server in memory for unit tests: it stores objects, lists, watches and patches them,
// and keeps resource versions and preconditions. It has no defaulting, validation or field ownership, so its tests
// are no evidence for a promise. Tests of promises run against a real control plane.
package fakeapi

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// Kind is a served kind.
type Kind struct {
	schema.GroupVersionResource
	Kind       string
	Namespaced bool
}

// Server is an API server in memory. It is safe for concurrent use.
type Server struct {
	testing.TB
	// Records are the releases in Namespace, as Helm's own library keeps them.
	Records *storage.Storage
	http    *httptest.Server

	kindsMu sync.Mutex
	kinds   []Kind

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced when history grows
	version  int
	objects  map[string]*unstructured.Unstructured // by path
	history  []event
	requests []Request
	asked    int // for discovery
	refuse   func(Request) *apierrors.StatusError
}

// Request is a received request as method and path; watches, lists and discovery are not kept.
type Request struct {
	Method, Path string
	DryRun       bool
	// Body is the body of a POST or PATCH.
	Body string
}

type event struct {
	kind    string // ADDED, MODIFIED, DELETED
	object  *unstructured.Unstructured
	path    string
	version int
}

// New returns a server for the built-in kinds, with Namespace, until the test ends.
func New(t testing.TB) *Server {
	s := &Server{
		TB: t, kinds: builtIn(), changed: make(chan struct{}), objects: map[string]*unstructured.Unstructured{},
	}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		s.http.CloseClientConnections()
		s.http.Close()
	})
	client, err := kubernetes.NewForConfig(s.Config())
	check.NoError(t, err)
	s.Records = storage.Init(driver.NewSecrets(client.CoreV1().Secrets(Namespace)))
	s.Put(map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": Namespace}})
	return s
}

// Config returns a client configuration for the server.
func (s *Server) Config() *rest.Config {
	return &rest.Config{Host: s.http.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
}

// Serve makes the server serve one more kind.
func (s *Server) Serve(k Kind) {
	s.kindsMu.Lock()
	defer s.kindsMu.Unlock()
	s.kinds = append(slices.Clip(s.kinds), k)
}

func (s *Server) served() []Kind {
	s.kindsMu.Lock()
	defer s.kindsMu.Unlock()
	return s.kinds
}

// Refuse calls refuse with every request for one object before it is executed. A returned error is the answer; after
// nil the request continues.
func (s *Server) Refuse(refuse func(Request) *apierrors.StatusError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = refuse
}

// Writes returns the writes so far to objects whose path contains part.
func (s *Server) Writes(part string) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []Request
	for _, r := range s.requests {
		if r.Method != http.MethodGet && !r.DryRun && strings.Contains(r.Path, part) {
			found = append(found, r)
		}
	}
	return found
}

// Put creates or replaces an object.
func (s *Server) Put(object map[string]any) {
	s.Helper()
	o := (&unstructured.Unstructured{Object: object}).DeepCopy()
	path := s.pathOf(o)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store(path, o)
}

// Get returns the object at a path such as "/api/v1/namespaces/apps/configmaps/web"; nil when there is none.
func (s *Server) Get(path string) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[path].DeepCopy()
}

// Delete deletes the object at a path.
func (s *Server) Delete(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(path)
}

// Patience is the timeout of Await. It is long enough for a busy machine; a passing test does not use it up.
const Patience = 60 * time.Second

// Await waits until ok returns true for the object at a path, or for nil if there is none.
func (s *Server) Await(what, path string, ok func(*unstructured.Unstructured) bool) {
	s.Helper()
	late := time.After(Patience)
	for {
		s.mu.Lock()
		object, changed := s.objects[path].DeepCopy(), s.changed
		s.mu.Unlock()
		if ok(object) {
			return
		}
		select {
		case <-changed:
		case <-late:
			s.Fatalf("%s: not within %s; %s is %v", what, Patience, path, s.Get(path))
		}
	}
}

func (s *Server) pathOf(o *unstructured.Unstructured) string {
	for _, k := range s.served() {
		if k.GroupVersion() == o.GroupVersionKind().GroupVersion() && k.Kind == o.GetKind() {
			return k.path(o.GetNamespace()) + "/" + o.GetName()
		}
	}
	s.Fatalf("the server does not serve %s", o.GroupVersionKind())
	return ""
}

func (k Kind) path(namespace string) string {
	path := prefix(k.GroupVersion())
	if k.Namespaced && namespace != "" {
		path += "/namespaces/" + namespace
	}
	return path + "/" + k.Resource
}

func prefix(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "/api/" + gv.Version
	}
	return "/apis/" + gv.String()
}

// store writes an object and notifies the watches. mu is held.
func (s *Server) store(path string, o *unstructured.Unstructured) {
	kind := "ADDED"
	if old := s.objects[path]; old != nil {
		kind = "MODIFIED"
		o.SetUID(old.GetUID())
		o.SetCreationTimestamp(old.GetCreationTimestamp())
	}
	s.version++
	if o.GetUID() == "" {
		o.SetUID(types.UID("uid-" + strconv.Itoa(s.version)))
	}
	if created := o.GetCreationTimestamp(); created.IsZero() {
		o.SetCreationTimestamp(metav1.Unix(int64(1_700_000_000+s.version), 0))
	}
	o.SetResourceVersion(strconv.Itoa(s.version))
	if kind == "MODIFIED" && o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0 {
		delete(s.objects, path)
		s.tell(event{"DELETED", o, path, s.version})
		return
	}
	s.objects[path] = o
	s.tell(event{kind, o.DeepCopy(), path, s.version})
}

// remove deletes an object, or marks it as being deleted when it has finalizers. mu is held.
func (s *Server) remove(path string) {
	o := s.objects[path]
	if o == nil {
		return
	}
	s.version++
	o = o.DeepCopy()
	o.SetResourceVersion(strconv.Itoa(s.version))
	if len(o.GetFinalizers()) > 0 {
		now := metav1.Unix(int64(1_700_000_000+s.version), 0)
		o.SetDeletionTimestamp(&now)
		s.objects[path] = o
		s.tell(event{"MODIFIED", o.DeepCopy(), path, s.version})
		return
	}
	delete(s.objects, path)
	s.tell(event{"DELETED", o, path, s.version})
}

func (s *Server) tell(e event) {
	s.history = append(s.history, e)
	close(s.changed)
	s.changed = make(chan struct{})
}
