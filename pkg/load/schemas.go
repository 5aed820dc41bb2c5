package load

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/apierror"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/watch"
)

// schemaOf returns the schema to compare objects of a kind. The schema of a custom kind is in its definition, read
// once. A kind of an aggregated API server has none. A definition that may not be read or cannot be compiled counts as
// none: then lists are compared as a whole. An error means to try again.
func (lo *Loader) schemaOf(ctx context.Context, gvk schema.GroupVersionKind, plural string) (drift.Schema, error) {
	if lo.schemas.Knows(gvk) {
		return lo.schemas.For(gvk), nil
	}
	if known, ok := lo.definitions.get(gvk); ok {
		return known, nil
	}
	name := plural + "." + gvk.Group
	crd, err := lo.Dynamic.Resource(watch.DefinitionsGVR).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return lo.schemas.For(gvk), nil
	case err != nil && !apierrors.IsForbidden(err):
		return drift.Schema{}, fmt.Errorf("get CustomResourceDefinition %s: %w", name, err)
	case err == nil:
		var compiled drift.Schema
		if compiled, err = lo.schemas.ForDefinition(crd.Object, gvk.Version); err == nil {
			lo.definitions.put(gvk, crd, compiled)
			return compiled, nil
		}
	}
	lo.Log.Warnf("CustomResourceDefinition %s: %s; lists of %s are compared as a whole", name,
		apierror.Safe(err), gvk.Kind)
	return lo.schemas.For(gvk), nil
}

// DefinitionChanged records a change of a definition, and reports whether its spec has changed: then the revisions with
// kinds of it have to be loaded again.
func (lo *Loader) DefinitionChanged(crd *metav1.PartialObjectMetadata) bool {
	return lo.definitions.changed(crd)
}

// IsCurrent reports whether no definition has changed since before the load of a revision.
func (lo *Loader) IsCurrent(rev *Revision) bool {
	return lo.definitions.changesSoFar() == rev.definitions
}
