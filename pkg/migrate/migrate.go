// Package migrate takes off the objects of a release what an older operator wrote on them: the labels and
// annotations of its ObjectSets, and its ownership of fields, which becomes Helm's. It writes no content.
package migrate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
)

// ErrHelmAtWork says that the release is not deployed, or that its record has changed since it was read: nothing is
// written.
var ErrHelmAtWork = errors.New("Helm is at work on it, or did not finish")

// attempts bounds how often an object that changes is read again.
const attempts = 5

// together is how many objects are asked for at a time.
const together = 8

// Object is one object of a release.
type Object struct {
	ID     manifest.ID
	Legacy *enforce.Legacy
	// Done is set when nothing is left to take off; Err says why it could not be read or written.
	Done bool
	Err  error

	target  *lock.Object
	desired map[string]any
	live    *unstructured.Unstructured
}

// Plan is what there is to take off the objects of one release.
type Plan struct {
	Key      release.Key
	Revision int
	// Declared is how many objects the release declares.
	Declared int
	// Marked are the objects that there is something to take off, Unseen those that could not be read; by
	// kind, namespace and name.
	Marked, Unseen []*Object

	record     release.Record
	serverSide bool
}

// Look returns what there is to take off the objects of a release. Nothing is written. The error is ErrHelmAtWork
// for a release that is not deployed, and an *inspect.NotFoundError for one that does not exist.
func Look(ctx context.Context, c *inspect.Cluster, key release.Key) (*Plan, error) {
	record, err := c.Find(ctx, key, 0)
	if err != nil {
		return nil, err
	}
	if record.Status != release.StatusDeployed {
		return nil, fmt.Errorf("revision %d of release %s is %s: %w", record.Revision, key, record.Status,
			ErrHelmAtWork)
	}
	details, err := c.Read(ctx, record)
	if err != nil {
		return nil, err
	}
	read, err := judge.Read(details.Manifest, manifest.Release(details.Key), c.Scope())
	if err != nil {
		return nil, fmt.Errorf("revision %d of release %s: %w", record.Revision, key, err)
	}
	declared := read.Objects
	p := &Plan{
		Key: key, Revision: record.Revision, Declared: len(declared), record: record,
		serverSide: details.ApplyMethod == release.ApplyMethodServerSide,
	}
	objects := make([]*Object, len(declared))
	var group errgroup.Group
	group.SetLimit(together)
	for i, o := range declared {
		objects[i] = &Object{ID: o.ID, desired: o.Content, target: &lock.Object{ID: o.ID, Kind: &lock.Kind{GVK: o.GVK}}}
		group.Go(func() error {
			objects[i].Err = p.look(ctx, c, objects[i])
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	slices.SortFunc(objects, func(a, b *Object) int { return a.ID.Compare(b.ID) })
	for _, o := range objects {
		switch {
		case o.Err != nil:
			p.Unseen = append(p.Unseen, o)
		case o.Legacy.Any():
			p.Marked = append(p.Marked, o)
		}
	}
	return p, nil
}

// look finds what the older operator left on an object; nothing on one that does not exist, or is being deleted.
func (p *Plan) look(ctx context.Context, c *inspect.Cluster, o *Object) (err error) {
	o.Legacy = &enforce.Legacy{}
	if o.live, err = c.Get(ctx, o.target); err != nil || o.live == nil || o.live.GetDeletionTimestamp() != nil {
		return err
	}
	o.Legacy, err = enforce.FindLegacy(p.Key, o.live, o.desired, p.serverSide)
	if err != nil {
		return fmt.Errorf("field ownership of %s: %w", o.ID, err)
	}
	return nil
}

// Carry takes off what the plan says, object by object, and leaves in each object's Err what went wrong with it;
// with dryRun the API server only reports whether it would. An object that has changed since the plan was made is
// read again, so that nothing that was written meanwhile is undone. The error says why nothing more was tried.
func (p *Plan) Carry(ctx context.Context, c *inspect.Cluster, dryRun bool) error {
	for _, o := range p.Marked {
		err := p.carry(ctx, c, o, dryRun)
		if errors.Is(err, ErrHelmAtWork) || ctx.Err() != nil {
			return err
		}
		o.Err, o.Done = err, err == nil
	}
	return nil
}

func (p *Plan) carry(ctx context.Context, c *inspect.Cluster, o *Object, dryRun bool) error {
	for attempt := 1; ; attempt++ {
		// After the object was read, so that what is declared is what Helm last wrote.
		switch holds, err := c.Enforcer().Holds(ctx, p.record); {
		case err != nil:
			return err
		case !holds:
			return fmt.Errorf("release %s: %w", p.Key, ErrHelmAtWork)
		}
		err := c.Enforcer().RemoveLegacy(ctx, o.target, o.live, o.Legacy, dryRun)
		if apierrors.IsNotFound(err) {
			return nil // gone, with all that was on it
		}
		if !apierrors.IsConflict(err) || attempt == attempts {
			return err
		}
		if err := p.look(ctx, c, o); err != nil || !o.Legacy.Any() {
			return err
		}
	}
}
