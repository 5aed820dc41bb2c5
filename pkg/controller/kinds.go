package controller

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// How long until a missing kind is asked for again. The API server begins to serve a kind some time after its
// definition has been established, without a further event; and kinds of aggregated API servers come without any
// event.
const (
	kindSoon  = time.Second
	kindLater = time.Minute
)

// definitionChanged has the releases tried again that wait for a kind, and those loaded again that have objects of
// the group of a definition whose spec has changed: their lists may be compared differently now.
func (rs *releases) definitionChanged(crd *metav1.PartialObjectMetadata) {
	rs.definitionsAt.Store(rs.Clock.Now().UnixNano())
	_, group, _ := strings.Cut(crd.Name, ".")
	reload := rs.loader.definitions.changed(crd)
	rs.entries.each(func(key string, e *entry) {
		concerned := reload && slices.ContainsFunc(e.kinds,
			func(gvk schema.GroupVersionKind) bool { return gvk.Group == group })
		e.reload = e.reload || concerned
		if concerned || len(e.waiting) > 0 {
			rs.queues.releases.Add(key)
		}
		if e.candidates.waits != nil {
			rs.queues.pruning.Add(key)
		}
	})
}

// kindArrived reports whether a kind that the release waits for is served by now. If none is, it is asked for again
// later.
func (rs *releases) kindArrived(key string) bool {
	var kinds []schema.GroupVersionKind
	rs.entries.update(key, func(e *entry) {
		for gvk := range e.waiting {
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

// servedNow reports whether one of some kinds that were not served is served by now.
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

// rediscover forgets which kinds are served, at most once in kindSoon unless a definition has changed since: all
// releases share that, and a tenant can have a HelmRelease reconciled as often as it likes.
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

// otherVersions returns the versions that the API server serves of kinds whose declared version it does not serve.
func (rs *releases) otherVersions(ld *loaded) map[schema.GroupKind][]string {
	served := map[schema.GroupKind][]string{}
	for gvk := range ld.waiting {
		served[gvk.GroupKind()] = rs.kinds.Versions(gvk.GroupKind())
	}
	return served
}
