package controller

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The delay between checks for a missing kind. The API server begins to serve a kind some time after its definition is
// established, without a further event. Kinds of aggregated API servers have no event at all.
const (
	kindSoon  = time.Second
	kindLater = time.Minute
)

// definitionChanged enqueues the releases that wait for a kind. After a change of a definition's spec, it also reloads
// the releases with objects of its group: their lists may be compared differently now.
func (rs *releases) definitionChanged(crd *metav1.PartialObjectMetadata) {
	rs.definitionsAt.Store(rs.Clock.Now().UnixNano())
	_, group, _ := strings.Cut(crd.Name, ".")
	reload := rs.loader.definitions.changed(crd)
	rs.entries.each(func(key string, e *entry) {
		concerned := reload && slices.ContainsFunc(e.kinds,
			func(gvk schema.GroupVersionKind) bool { return gvk.Group == group })
		e.reload = e.reload || concerned
		if concerned || len(e.Waiting) > 0 {
			rs.queues.releases.Add(key)
		}
		if e.candidates.waits != nil {
			rs.queues.pruning.Add(key)
		}
	})
}

// kindArrived reports whether an awaited kind of the release is served by now. If none is, it asks again later.
func (rs *releases) kindArrived(key string) bool {
	var kinds []schema.GroupVersionKind
	rs.entries.update(key, func(e *entry) {
		for gvk := range e.Waiting {
			kinds = append(kinds, gvk)
		}
	})
	if len(kinds) == 0 {
		return false
	}
	if rs.servedNow(kinds) {
		return true
	}
	rs.queues.releases.AddAfter(key, rs.kindWait())
	return false
}

// servedNow reports whether one of the previously unserved kinds is served by now.
func (c *common) servedNow(kinds []schema.GroupVersionKind) bool {
	if len(kinds) == 0 {
		return false
	}
	c.rediscover()
	return slices.ContainsFunc(kinds, func(gvk schema.GroupVersionKind) bool {
		_, err := c.kinds.Get(gvk)
		return err == nil
	})
}

// rediscover drops the known kinds, at most once in kindSoon unless a definition has changed since: all releases share
// discovery, and a tenant can trigger a reconciliation of a HelmRelease at any rate.
func (c *common) rediscover() {
	now := c.Clock.Now()
	last := c.discoveredAt.Load()
	if c.definitionsAt.Load() <= last && now.Sub(time.Unix(0, last)) < kindSoon {
		return
	}
	c.discoveredAt.Store(now.UnixNano())
	c.kinds.Reset()
}

func (c *common) kindWait() time.Duration {
	if c.Clock.Since(time.Unix(0, c.definitionsAt.Load())) < kindLater {
		return kindSoon
	}
	return kindLater
}

// otherVersions returns the served versions of kinds with an unserved declared version.
func (ld *loaded) otherVersions(versions func(schema.GroupKind) []string) map[schema.GroupKind][]string {
	served := map[schema.GroupKind][]string{}
	for gvk := range ld.waiting {
		served[gvk.GroupKind()] = versions(gvk.GroupKind())
	}
	return served
}
