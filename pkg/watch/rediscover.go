package watch

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The delay between checks for a missing kind. The API server begins to serve a kind some time after its definition is
// established, without a further event. Kinds of aggregated API servers have no event at all.
const (
	KindSoon  = time.Second
	kindLater = time.Minute
)

// DefinitionChanged records the creation, change or deletion of a CustomResourceDefinition.
func (k *Kinds) DefinitionChanged() { k.definitionsAt.Store(k.clock.Now().UnixNano()) }

// Arrived reports whether one of the kinds that were not served is served by now.
func (k *Kinds) Arrived(kinds []schema.GroupVersionKind) bool {
	if len(kinds) == 0 {
		return false
	}
	k.Rediscover()
	return slices.ContainsFunc(kinds, func(gvk schema.GroupVersionKind) bool {
		_, err := k.Get(gvk)
		return err == nil
	})
}

// Rediscover forgets every answer, at most once in KindSoon unless a definition has changed since: all releases share
// discovery, and a tenant can trigger a reconciliation of a HelmRelease at any rate.
func (k *Kinds) Rediscover() {
	now := k.clock.Now()
	last := k.discoveredAt.Load()
	if k.definitionsAt.Load() <= last && now.Sub(time.Unix(0, last)) < KindSoon {
		return
	}
	k.discoveredAt.Store(now.UnixNano())
	k.Reset()
}

// Wait returns the time until a missing kind is worth another check.
func (k *Kinds) Wait() time.Duration {
	if k.clock.Since(time.Unix(0, k.definitionsAt.Load())) < kindLater {
		return KindSoon
	}
	return kindLater
}
