// Package migrate removes an older operator's writes from the objects of a release: the labels and annotations of its
// ObjectSets, and its ownership of fields, which becomes Helm's. It writes no content.
package migrate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/inspect"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/revert"
)

// ErrHelmAtWork means that the release is not deployed, or that its record has changed since the read. Nothing is
// written.
var ErrHelmAtWork = errors.New("Helm is at work on it, or did not finish")

// attempts bounds the reads of a changing object.
const attempts = 5

// readsAtOnce bounds the concurrent reads of objects.
const readsAtOnce = 8

// Object is one object of a release.
type Object struct {
	ID     manifest.ID
	Legacy *Legacy
	// Done is set when nothing is left to remove; Err is the error of the read or the write.
	Done bool
	Err  error

	target  *lock.Object
	desired map[string]any
	live    *unstructured.Unstructured
}

// Plan contains the planned removals from the objects of one release.
type Plan struct {
	Key      release.Key
	Revision int
	// Declared counts the declared objects of the release.
	Declared int
	// Marked are the objects with something to remove, Unseen the unreadable ones; by kind, namespace and name.
	Marked, Unseen []*Object
	// Kept counts the objects with metadata of this operator, which stays.
	Kept int

	record     release.Record
	serverSide bool
	all        bool
}

// NewPlan returns the planned removals from the objects of a release; with all, of the metadata that this operator has
// written by --objectset-metadata, too. It writes nothing. The error is ErrHelmAtWork for a release in another state
// than deployed, and an *inspect.NotFoundError for one that does not exist.
func NewPlan(ctx context.Context, c *inspect.Cluster, key release.Key, all bool) (*Plan, error) {
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
		Key: key, Revision: record.Revision, Declared: len(declared), record: record, all: all,
		serverSide: details.ApplyMethod == release.ApplyMethodServerSide,
	}
	objects := make([]*Object, len(declared))
	var group errgroup.Group
	group.SetLimit(readsAtOnce)
	for i, o := range declared {
		objects[i] = &Object{ID: o.ID, desired: o.Content, target: &lock.Object{ID: o.ID, Kind: &lock.Kind{GVK: o.GVK}}}
		group.Go(func() error {
			objects[i].Err = p.inspect(ctx, c, objects[i])
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	slices.SortFunc(objects, func(a, b *Object) int { return a.ID.Compare(b.ID) })
	for _, o := range objects {
		if o.Legacy.Kept {
			p.Kept++
		}
		switch {
		case o.Err != nil:
			p.Unseen = append(p.Unseen, o)
		case o.Legacy.Any():
			p.Marked = append(p.Marked, o)
		}
	}
	return p, nil
}

// look finds the older operator's writes on an object; nothing on a missing object, or one in deletion.
func (p *Plan) inspect(ctx context.Context, c *inspect.Cluster, o *Object) (err error) {
	o.Legacy = &Legacy{}
	if o.live, err = c.Get(ctx, o.target); err != nil || o.live == nil || o.live.GetDeletionTimestamp() != nil {
		return err
	}
	o.Legacy, err = FindLegacy(p.Key, o.live, o.desired, p.serverSide, p.all)
	if err != nil {
		return fmt.Errorf("field ownership of %s: %w", o.ID, err)
	}
	return nil
}

// Carry executes the plan, object by object, and sets each object's Err on a failure; with dryRun the API server only
// validates. It reads an object again if it has changed since the plan, so no write of the meantime is undone. The
// returned error is the reason for stopping early.
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
		// After the read of the object, so that the declared fields are Helm's last write.
		switch holds, err := c.Enforcer().Holds(ctx, p.record); {
		case err != nil:
			return err
		case !holds:
			return fmt.Errorf("release %s: %w", p.Key, ErrHelmAtWork)
		}
		err := c.Enforcer().Edit(ctx, o.Legacy.removal(revert.Object(o.target), o.live, dryRun))
		if apierrors.IsNotFound(err) {
			return nil // gone, with all that was on it
		}
		if !apierrors.IsConflict(err) || attempt == attempts {
			return err
		}
		if err := p.inspect(ctx, c, o); err != nil || !o.Legacy.Any() {
			return err
		}
	}
}
