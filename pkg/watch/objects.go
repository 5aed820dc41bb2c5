package watch

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/rancher/helm-locker/pkg/manifest"
)

// HelmSelector selects the objects managed by Helm: Helm sets this label on every object it applies.
const HelmSelector = manifest.ManagedByLabel + "=" + manifest.ManagedByHelm

// Sink judges the events of the watched kinds. Its methods must return quickly; calls for one kind are in order.
type Sink interface {
	// Observed: the object exists and is so.
	Observed(gvk schema.GroupVersionKind, obj *Live)
	// Gone: the object was deleted, or lost Helm's label; last is its last known state.
	Gone(gvk schema.GroupVersionKind, last *Live)
	// Listed: after a start or a gap every object of the kind was delivered by Observed; those not present do
	// not exist or lack the label.
	Listed(gvk schema.GroupVersionKind, present func(manifest.ID) bool)
	// Rewound: resource versions of the kind begin again, and every object is delivered again.
	Rewound(gvk schema.GroupVersionKind)
	// Troubled: the result of Objects.Errors for the kind has changed. The watch failed, fails otherwise, or works
	// again.
	Troubled(gvk schema.GroupVersionKind)
}

// Objects runs one watch for each needed kind, restricted to objects managed by Helm, and stops it when the kind is
// no longer needed. It is safe for concurrent use.
type Objects struct {
	client *Client
	sink   Sink
	log    logrus.FieldLogger

	mu      sync.Mutex
	ctx     context.Context // of Start; nil before
	watches map[schema.GroupVersionKind]*kindWatch
	needs   map[string][]schema.GroupVersionKind // by owner
	running sync.WaitGroup
}

type kindWatch struct {
	feed  *feed[*Live]
	stop  context.CancelFunc // nil until it runs
	users int
}

// NewObjects returns watches that deliver to sink. None runs before Start.
func NewObjects(client *Client, sink Sink, log logrus.FieldLogger) *Objects {
	return &Objects{
		client: client, sink: sink, log: log,
		watches: map[schema.GroupVersionKind]*kindWatch{},
		needs:   map[string][]schema.GroupVersionKind{},
	}
}

// Start starts the watches needed so far, and later ones as they are needed, until ctx ends. Objects needed before
// Start are delivered by one list of each kind, instead of being read release by release.
func (o *Objects) Start(ctx context.Context) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ctx = ctx
	for _, w := range o.watches {
		o.run(w)
	}
}

// Wait returns when every watch has ended after the context of Start did.
func (o *Objects) Wait() { o.running.Wait() }

// Need declares the whole set of kinds that owner needs from now on; an empty set ends its needs. It returns the
// kinds whose watch has begun or finished its first list: earlier objects are not delivered again, so the caller has
// to get them. For the delivery of the others, the caller must be known to the sink by now.
func (o *Objects) Need(owner string, kinds map[schema.GroupVersionKind]Kind) (begun map[schema.GroupVersionKind]bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	begun = map[schema.GroupVersionKind]bool{}
	old := o.needs[owner]
	for gvk, kind := range kinds {
		if !slices.Contains(old, gvk) {
			o.acquire(gvk, kind)
		}
		select {
		case <-o.watches[gvk].feed.begun:
			begun[gvk] = true
		default:
		}
	}
	for _, gvk := range old {
		if _, still := kinds[gvk]; !still {
			o.release(gvk)
		}
	}
	if len(kinds) == 0 {
		delete(o.needs, owner)
		return begun
	}
	o.needs[owner] = slices.AppendSeq(make([]schema.GroupVersionKind, 0, len(kinds)), maps.Keys(kinds))
	return begun
}

// listPage is the number of objects in one request. It does not bound memory: one object is read at a time.
const listPage = 250

// listTimeout bounds a list in all; the client has no limit of its own, as watches have none.
const listTimeout = time.Minute

// List passes every object of a kind managed by Helm to each, one after the other.
func (o *Objects) List(ctx context.Context, kind Kind, each func(*Live)) error {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	opts := metav1.ListOptions{LabelSelector: HelmSelector, Limit: listPage}
	for {
		page, err := o.client.List(ctx, kind.GVR, opts, func(live *Live) error {
			each(live)
			return nil
		})
		if err != nil {
			return err
		}
		if opts.Continue = page.Continue; opts.Continue == "" {
			return nil
		}
	}
}

// Errors returns the last error of every failing watch among kinds.
func (o *Objects) Errors(kinds []schema.GroupVersionKind) map[schema.GroupVersionKind]error {
	o.mu.Lock()
	defer o.mu.Unlock()
	errs := map[schema.GroupVersionKind]error{}
	for _, gvk := range kinds {
		if w := o.watches[gvk]; w != nil {
			if err := w.feed.lastError(); err != nil {
				errs[gvk] = err
			}
		}
	}
	return errs
}

func (o *Objects) acquire(gvk schema.GroupVersionKind, kind Kind) {
	if w := o.watches[gvk]; w != nil {
		w.users++
		return
	}
	w := &kindWatch{users: 1}
	lw := o.listWatch(kind, func(live *Live) *listedObject { return w.feed.deliver(live) })
	w.feed = newFeed(gvk.Kind+"."+gvk.GroupVersion().String(), lw, &Live{}, &kindSink{gvk: gvk, to: o.sink}, o.log)
	w.feed.troubled = func() { o.sink.Troubled(gvk) }
	w.feed.rewound = func() { o.sink.Rewound(gvk) }
	o.watches[gvk] = w
	if o.ctx != nil {
		o.run(w)
	}
}

// run starts a watch. o.mu is held.
func (o *Objects) run(w *kindWatch) {
	ctx, stop := context.WithCancel(o.ctx)
	w.stop = stop
	o.running.Go(func() {
		defer stop()
		w.feed.run(ctx)
	})
}

func (o *Objects) release(gvk schema.GroupVersionKind) {
	w := o.watches[gvk]
	w.users--
	if w.users == 0 {
		if w.stop != nil {
			w.stop()
		}
		delete(o.watches, gvk)
	}
}

// listWatch lists and watches a kind for a feed. Lists are for API servers that do not stream them as a watch: their
// objects are delivered as they arrive, and only names are left for the Reflector.
func (o *Objects) listWatch(kind Kind, deliver func(*Live) *listedObject) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			opts.LabelSelector = HelmSelector
			list := &metav1.List{}
			var err error
			list.ListMeta, err = o.client.List(ctx, kind.GVR, opts, func(live *Live) error {
				list.Items = append(list.Items, runtime.RawExtension{Object: deliver(live)})
				return nil
			})
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (apiwatch.Interface, error) {
			opts.LabelSelector = HelmSelector
			return o.client.Watch(ctx, kind.GVR, opts)
		},
	}
}

// kindSink forwards the events of one kind with the requested kind.
type kindSink struct {
	gvk schema.GroupVersionKind
	to  Sink
}

func (k *kindSink) observed(live *Live) { k.to.Observed(k.gvk, live) }
func (k *kindSink) gone(live *Live)     { k.to.Gone(k.gvk, live) }

func (k *kindSink) listed(present map[types.NamespacedName]struct{}) {
	k.to.Listed(k.gvk, func(id manifest.ID) bool {
		_, exists := present[types.NamespacedName{Namespace: id.Namespace, Name: id.Name}]
		return exists
	})
}

// IDOf returns the identity of a live object of a kind.
func IDOf(gvk schema.GroupVersionKind, obj metav1.Object) manifest.ID {
	return manifest.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
}
