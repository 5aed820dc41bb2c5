package inspect

import (
	"context"

	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
)

// Leftovers returns the objects of earlier revisions that the newest one does not declare, that exist with the
// release's ownership metadata, and that have no policy to keep them. A lock may delete them. It skips unreadable
// revisions, as the operator does.
func (c *Cluster) Leftovers(ctx context.Context, key release.Key) ([]manifest.ID, error) {
	declared, err := c.Declared(ctx, key)
	if err != nil {
		return nil, err
	}
	var left []manifest.ID
	for i := range declared.Former {
		o := &declared.Former[i]
		if o.Keep || judge.HoldsData(o.ID.GroupKind()) {
			continue
		}
		live, err := c.Get(ctx, &lock.Object{ID: o.ID, Kind: &lock.Kind{GVK: o.GVK}})
		if err != nil {
			return nil, err
		}
		if live != nil && judge.ClaimedBy(live) == declared.Release.Key && !manifest.Kept(live.GetAnnotations()) {
			left = append(left, o.ID)
		}
	}
	return left, nil
}
