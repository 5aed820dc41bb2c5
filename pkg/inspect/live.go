package inspect

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/enforce"
	"github.com/rancher/helm-locker/pkg/judge"
	"github.com/rancher/helm-locker/pkg/lock"
	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/pkg/revert"
	"github.com/rancher/helm-locker/pkg/salvage"
)

// Scope is part of Source.
func (c *Cluster) Scope() manifest.Scope {
	return func(gvk schema.GroupVersionKind) (bool, error) {
		kind, err := c.kinds.Get(gvk)
		return kind.Namespaced, err
	}
}

// Get is part of Source.
func (c *Cluster) Get(ctx context.Context, o *lock.Object) (*unstructured.Unstructured, error) {
	kind, err := c.kinds.Get(o.GVK)
	if err != nil {
		return nil, err
	}
	o.Kind = &lock.Kind{GVK: o.GVK, GVR: kind.GVR, Namespaced: kind.Namespaced}
	return c.enforcer.Get(ctx, revert.Object(o))
}

// UnknownKind is part of Source.
func (c *Cluster) UnknownKind() string {
	return "the cluster does not serve this kind: its CustomResourceDefinition is gone"
}

// DryRun is part of Source. The API server answers with the object it would store, and writes nothing.
func (c *Cluster) DryRun(ctx context.Context, r *enforce.Revert) (*unstructured.Unstructured, string, error) {
	after, err := c.enforcer.DryRun(ctx, r)
	switch {
	case err == nil:
		return after, "", nil
	case ctx.Err() != nil:
		return nil, "", ctx.Err()
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return nil, "", errChanged
	case salvage.RefusesContent(err):
		return nil, "", err
	case apierrors.IsForbidden(err):
		return nil, fmt.Sprintf("no permission for a dry run (it needs the verb patch on %s)", r.GVR.GroupResource()),
			nil
	default:
		// The server's message may quote values, so only its reason is returned.
		return nil, fmt.Sprintf("the API server refused a dry run of %s (%s)", r.Object, reasonOf(err)), nil
	}
}

// Autoscalers is part of Source.
func (c *Cluster) Autoscalers(ctx context.Context, namespace string) []*unstructured.Unstructured {
	var autoscalers []*unstructured.Unstructured
	for i := range judge.Scalers {
		kind, err := c.kinds.Get(judge.Scalers[i].GroupVersionKind)
		if err != nil {
			continue
		}
		list, err := c.Dynamic.Resource(kind.GVR).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			continue // who may not see them sees the replica count as drift
		}
		for i := range list.Items {
			autoscalers = append(autoscalers, &list.Items[i])
		}
	}
	return autoscalers
}

func reasonOf(err error) string {
	if reason := apierrors.ReasonForError(err); reason != "" {
		return string(reason)
	}
	return "no answer"
}

// Definition is part of Source.
func (c *Cluster) Definition(ctx context.Context, gvk schema.GroupVersionKind) map[string]any {
	kind, err := c.kinds.Get(gvk)
	if err != nil {
		return nil
	}
	name := kind.GVR.Resource + "." + gvk.Group
	definition, err := c.Dynamic.Resource(definitionsGVR).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil // who may not read it sees lists compared as a whole
	}
	return definition.Object
}

var definitionsGVR = schema.GroupVersionResource{
	Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
}

// Declares is part of Source.
func (c *Cluster) Declares(ctx context.Context, other release.Key, id manifest.ID) bool {
	records, err := c.Records(ctx, other.Namespace, other.Name)
	stored := release.NewestOfEach(records)
	if err == nil && len(stored) == 0 {
		stored, err = c.enforcer.Elsewhere(ctx, other)
	}
	return err == nil && slices.ContainsFunc(stored, func(record release.Record) bool {
		return declaredBy(ctx, c, record, other, id)
	})
}

// declaredBy reports whether a record of the named release declares an object.
func declaredBy(ctx context.Context, c *Cluster, record release.Record, named release.Key, id manifest.ID) bool {
	details, err := c.Read(ctx, record)
	if err != nil || details.Key != named {
		return false
	}
	declared, err := read(details, c.Scope())
	if err != nil {
		return false
	}
	return slices.Contains(declared.IDs(), id)
}
