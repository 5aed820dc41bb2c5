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

// definitionChanged has the releases tried again that wait for a kind, and those loaded anew that have objects of
// the group of a definition whose spec has changed: their lists may be compared differently now.
func (c *Controller) definitionChanged(crd *metav1.PartialObjectMetadata) {
	c.definitionsAt.Store(c.Clock.Now().UnixNano())
	_, group, _ := strings.Cut(crd.Name, ".")
	reload := c.definitions.changed(crd)
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, e := range c.entries {
		concerned := reload && slices.ContainsFunc(e.kinds,
			func(gvk schema.GroupVersionKind) bool { return gvk.Group == group })
		e.reload = e.reload || concerned
		if concerned || len(e.waiting) > 0 {
			c.releaseQueue.Add(key)
		}
	}
}

// kindArrived reports whether a kind that the release waits for is served by now. If none is, it is asked for again
// later.
func (c *Controller) kindArrived(key string) bool {
	var kinds []schema.GroupVersionKind
	c.update(key, func(e *entry) {
		for gvk := range e.waiting {
			kinds = append(kinds, gvk)
		}
	})
	if len(kinds) == 0 {
		return false
	}
	c.kinds.Reset()
	for _, gvk := range kinds {
		if _, err := c.kinds.Get(gvk); err == nil {
			return true
		}
	}
	c.releaseQueue.AddAfter(key, c.kindWait())
	return false
}

func (c *Controller) kindWait() time.Duration {
	if c.Clock.Since(time.Unix(0, c.definitionsAt.Load())) < kindLater {
		return kindSoon
	}
	return kindLater
}

// otherVersions returns the versions that the API server serves of kinds whose declared version it does not serve.
func (c *Controller) otherVersions(ld *loaded) map[schema.GroupKind][]string {
	served := map[schema.GroupKind][]string{}
	for gvk := range ld.waiting {
		served[gvk.GroupKind()] = c.kinds.Versions(gvk.GroupKind())
	}
	return served
}
