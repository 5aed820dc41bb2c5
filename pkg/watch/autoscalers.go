package watch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/manifest"
)

// Autoscalers follows the objects of the judge.Scalers in the cluster while an object is locked whose replicas one of
// them could set. It watches the served kinds. It is safe for concurrent use.
type Autoscalers struct {
	client      dynamic.Interface
	definitions *Definitions
	log         logrus.FieldLogger
	changed     func([]manifest.ID)
	known       judge.Autoscalers

	mu      sync.Mutex
	ctx     context.Context // of Start; nil before
	users   map[string]struct{}
	kinds   []followedKind // of the judge.Scalers
	running sync.WaitGroup
}

// followedKind is one of the judge.Scalers.
type followedKind struct {
	*judge.Scaler
	stop  context.CancelFunc // nil while there is no watch
	ended chan struct{}      // of the last watch, so that two never deliver at once; nil before the first
}

// NewAutoscalers returns a follower. It calls changed with the objects whose range of replicas has changed. changed
// must only enqueue.
func NewAutoscalers(
	client dynamic.Interface, definitions *Definitions, log logrus.FieldLogger, changed func([]manifest.ID),
) *Autoscalers {
	a := &Autoscalers{client: client, definitions: definitions, log: log, changed: changed,
		users: map[string]struct{}{}}
	for i := range judge.Scalers {
		a.kinds = append(a.kinds, followedKind{Scaler: &judge.Scalers[i]})
	}
	return a
}

// Start lets the watches run while they are needed, until ctx ends.
func (a *Autoscalers) Start(ctx context.Context) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ctx = ctx
}

// Wait returns when the watches have ended after the context of Start did.
func (a *Autoscalers) Wait() { a.running.Wait() }

// Limits of List: its timeout, and the size of a page.
const (
	autoscalersTimeout = 5 * time.Second
	autoscalersPage    = 100
)

// List returns the current autoscalers of a namespace, by a consistent list of each served kind. The watches can be
// late, or can have delivered nothing yet.
func (a *Autoscalers) List(ctx context.Context, namespace string) (*judge.Autoscalers, error) {
	ctx, cancel := context.WithTimeout(ctx, autoscalersTimeout)
	defer cancel()
	if !a.definitions.synced() {
		return nil, errors.New("the kinds that the API server serves are not known yet")
	}
	known := &judge.Autoscalers{}
	for i := range a.kinds {
		if scaler := a.kinds[i].Scaler; a.serves(scaler) {
			if err := a.list(ctx, scaler, namespace, known); err != nil {
				return nil, fmt.Errorf("list the %ss of namespace %s: %w", scaler.Kind, namespace, err)
			}
		}
	}
	return known, nil
}

func (a *Autoscalers) list(
	ctx context.Context, scaler *judge.Scaler, namespace string, known *judge.Autoscalers,
) error {
	options := metav1.ListOptions{Limit: autoscalersPage}
	for {
		page, err := a.client.Resource(scaler.GVR()).Namespace(namespace).List(ctx, options)
		if apierrors.IsNotFound(err) && !scaler.BuiltIn() {
			return nil // another version is served, or none yet
		}
		if err != nil {
			return err
		}
		for i := range page.Items {
			known.Set(&page.Items[i])
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}

// serves reports whether the API server serves a kind, according to the watch of definitions.
func (a *Autoscalers) serves(scaler *judge.Scaler) bool {
	return scaler.BuiltIn() || a.definitions.has(scaler.GVR().GroupResource().String())
}

// Drop ends the need of owner. The watches end with the last need.
func (a *Autoscalers) Drop(owner string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.users, owner)
	a.follow()
}

// Need follows the autoscalers until owner, and every other one, drops them.
func (a *Autoscalers) Need(owner string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.users[owner] = struct{}{}
	a.follow()
}

// DefinitionsChanged follows the kinds served now.
func (a *Autoscalers) DefinitionsChanged() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.follow()
}

// follow starts the needed watches and stops the others. a.mu is held.
func (a *Autoscalers) follow() {
	for i := range a.kinds {
		k := &a.kinds[i]
		switch needed := len(a.users) > 0 && a.serves(k.Scaler); {
		case needed && k.stop == nil && a.ctx != nil && a.ctx.Err() == nil:
			a.begin(k)
		case !needed && k.stop != nil:
			k.stop()
			k.stop = nil
		}
	}
}

func (a *Autoscalers) begin(k *followedKind) {
	ctx, stop := context.WithCancel(a.ctx)
	f := newFeed(k.Kind+"s", listWatch(a.client.Resource(k.GVR())), &unstructured.Unstructured{},
		&autoscalerSink{a, manifest.ID{Group: k.Group, Kind: k.Kind}}, a.log)
	before, ended := k.ended, make(chan struct{})
	k.stop, k.ended = stop, ended
	a.running.Go(func() {
		defer close(ended)
		defer stop()
		if before != nil {
			<-before
		}
		f.run(ctx)
	})
}

// Known returns the autoscalers delivered by the watches.
func (a *Autoscalers) Known() *judge.Autoscalers { return &a.known }

// autoscalerSink takes the events of the feed of one kind.
type autoscalerSink struct {
	*Autoscalers
	kind manifest.ID // with no namespace and no name
}

func (s *autoscalerSink) notify(ids []manifest.ID) {
	if len(ids) > 0 {
		s.changed(ids)
	}
}

func (s *autoscalerSink) observed(obj *unstructured.Unstructured) { s.notify(s.known.Set(obj)) }

func (s *autoscalerSink) gone(obj *unstructured.Unstructured) {
	id := s.kind
	id.Namespace, id.Name = obj.GetNamespace(), obj.GetName()
	s.notify(s.known.Remove(id))
}

func (s *autoscalerSink) listed(present map[types.NamespacedName]struct{}) {
	for _, id := range s.known.IDs() {
		_, exists := present[types.NamespacedName{Namespace: id.Namespace, Name: id.Name}]
		if !exists && id.GroupKind() == s.kind.GroupKind() {
			s.notify(s.known.Remove(id))
		}
	}
}
