package inspect

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/release/whole"
)

// Declared lists the objects of a release, and those of its earlier revisions with records.
type Declared struct {
	Release *whole.Release
	// Objects are those of the current revision (see Current), Former those that only earlier revisions declare.
	Objects, Former []manifest.Object
	// Unknown are objects of kinds that the API server does not serve.
	Unknown []manifest.Object
}

// Declared reads all records of a release. Like the operator, it skips earlier revisions that cannot be read or parsed.
// The error is a *NotFoundError when the release has no record.
func (c *Cluster) Declared(ctx context.Context, key release.Key) (*Declared, error) {
	records, err := c.Records(ctx, key.Namespace, key.Name)
	if err != nil {
		return nil, err
	}
	current, found := Current(records)
	if !found {
		_, err := c.Find(ctx, key, 0) // says what may have been meant
		if err == nil {
			err = fmt.Errorf("release %s was being installed; try again", key)
		}
		return nil, err
	}
	d := &Declared{}
	if d.Release, err = c.Read(ctx, current); err != nil {
		return nil, err
	}
	newest, err := read(d.Release, c.Scope())
	if err != nil {
		return nil, err
	}
	d.Objects, d.Unknown = newest.Objects, newest.Unknown
	declared := map[manifest.ID]bool{}
	for _, id := range newest.IDs() {
		declared[id] = true
	}
	for _, record := range records {
		if record.Revision >= current.Revision {
			continue
		}
		details, err := c.Read(ctx, record)
		if err != nil {
			continue
		}
		former, err := read(details, c.Scope())
		if err != nil {
			continue
		}
		for _, o := range former.Objects {
			if !declared[o.ID] {
				declared[o.ID] = true
				d.Former = append(d.Former, o)
			}
		}
	}
	return d, nil
}

// Objects returns the objects in the manifest of a release, with those of unknown kinds.
func Objects(details *whole.Release, scope manifest.Scope) ([]manifest.Object, error) {
	declared, err := read(details, scope)
	if err != nil {
		return nil, err
	}
	return slices.Concat(declared.Objects, declared.Unknown), nil
}

// Names returns the objects in the manifest of a release, in the order of kind, namespace and name.
func Names(details *whole.Release, scope manifest.Scope) ([]manifest.ID, error) {
	objects, err := Objects(details, scope)
	if err != nil {
		return nil, err
	}
	var ids []manifest.ID
	for _, o := range objects {
		ids = append(ids, o.ID)
	}
	slices.SortFunc(ids, manifest.ID.Compare)
	return ids, nil
}

// Resource returns the resource name of a kind, as in "deployments".
func (c *Cluster) Resource(gvk schema.GroupVersionKind) (string, error) {
	kind, err := c.kinds.Get(gvk)
	return kind.GVR.Resource, err
}
