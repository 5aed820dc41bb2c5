package watch

import (
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
	"k8s.io/utils/clock"
)

// Kind is how the API server serves a kind.
type Kind struct {
	GVR        schema.GroupVersionResource
	Namespaced bool
}

// Kinds returns the resource that serves a kind. It caches answers until Reset. It is safe for concurrent use.
type Kinds struct {
	discovery discovery.CachedDiscoveryInterface
	mapper    *restmapper.DeferredDiscoveryRESTMapper
	clock     clock.PassiveClock
	// definitionsAt is the time of the last creation, change or deletion of a CustomResourceDefinition, and
	// discoveredAt that of the last Rediscover, in Unix nanoseconds.
	definitionsAt, discoveredAt atomic.Int64

	mu    sync.Mutex
	known map[schema.GroupVersionKind]Kind
}

// NewKinds returns Kinds with client for discovery.
func NewKinds(client discovery.DiscoveryInterface, clock clock.PassiveClock) *Kinds {
	cached := memory.NewMemCacheClient(client)
	return &Kinds{
		discovery: cached,
		clock:     clock,
		mapper:    restmapper.NewDeferredDiscoveryRESTMapper(cached),
		known:     map[schema.GroupVersionKind]Kind{},
	}
}

// Get returns the resource of a kind. The error satisfies meta.IsNoMatchError if the API server does not serve the
// kind (its CustomResourceDefinition is missing).
func (k *Kinds) Get(gvk schema.GroupVersionKind) (Kind, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if kind, ok := k.known[gvk]; ok {
		return kind, nil
	}
	mapping, err := k.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return Kind{}, fmt.Errorf("resource of %s: %w", gvk, err)
	}
	kind := Kind{GVR: mapping.Resource, Namespaced: mapping.Scope.Name() == meta.RESTScopeNameNamespace}
	k.known[gvk] = kind
	return kind, nil
}

// Versions returns the served versions of a kind, in the API server's order of preference; none when the kind is not
// served, or the API server does not answer.
func (k *Kinds) Versions(gk schema.GroupKind) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	mappings, err := k.mapper.RESTMappings(gk)
	if err != nil {
		return nil
	}
	versions := make([]string, 0, len(mappings))
	for _, mapping := range mappings {
		versions = append(versions, mapping.GroupVersionKind.GroupVersion().String())
	}
	return versions
}

// Reset forgets every answer, because a CustomResourceDefinition came, changed or went.
func (k *Kinds) Reset() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known = map[schema.GroupVersionKind]Kind{}
	k.mapper.Reset()
}

// Discovery returns the cached discovery client behind the answers.
func (k *Kinds) Discovery() discovery.DiscoveryInterface { return k.discovery }
