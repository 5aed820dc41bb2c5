package kit

import (
	"context"

	"github.com/rancher/wrangler/v3/pkg/apply"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
)

// Applier applies and marks objects as any user of wrangler does.
type Applier struct {
	e     *Env
	apply apply.Apply
}

// NewApplier returns a user of wrangler. The API server derives its field manager from program.
func NewApplier(e *Env, program string) *Applier {
	e.Helper()
	config := e.Cluster.RESTConfig()
	config.UserAgent = program + "/v0.0.4 (linux/amd64)"
	client, err := discovery.NewDiscoveryClientForConfig(config)
	check.NoError(e, err)
	return &Applier{e: e, apply: apply.New(client, apply.NewClientFactory(config))}
}

// OlderOperator leaves the traces of the older operator. That one only called wrangler's apply, so the same calls
// leave the same labels, annotations and field ownership. It locks once per call instead of watching.
type OlderOperator struct{ *Applier }

// NewOlderOperator returns an older operator.
func NewOlderOperator(e *Env) *OlderOperator {
	e.Helper()
	return &OlderOperator{NewApplier(e, "helm-locker")}
}

// HelmRelease creates a HelmRelease claimed by the older operator. At the end of the test it removes a remaining
// finalizer, which would block the deletion of the CRD.
func (o *OlderOperator) HelmRelease(name string) {
	o.e.Helper()
	o.e.CreateHelmRelease(name, func(hr *v1alpha1.HelmRelease) {
		hr.Finalizers = []string{v1alpha1.LegacyFinalizer}
		hr.Annotations = map[string]string{v1alpha1.ManagedByAnnotation: o.e.Operator}
	})
	ctx := context.WithoutCancel(o.e.Ctx)
	o.e.Cleanup(func() {
		_, err := o.e.In(HelmReleases, o.e.Operator).Patch(ctx, name, types.MergePatchType,
			[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			o.e.Error(err)
		}
	})
}

// Lock applies a manifest as the ObjectSet of the release of that name in Apps, and labels the objects.
func (o *OlderOperator) Lock(name, manifest string) {
	o.e.Helper()
	o.Apply("object-set-applier", o.e.Apps+"/"+name,
		schema.FromAPIVersionAndKind("internal.cattle.io/v1alpha1", "objectSetState"), manifest)
}

// Apply applies and labels objects under the name of a set and with an owner called NAMESPACE/NAME.
func (o *Applier) Apply(setID, owner string, kind schema.GroupVersionKind, manifest string) {
	o.e.Helper()
	all, err := DecodeAsWritten(manifest)
	check.NoError(o.e, err)
	objects := make([]runtime.Object, len(all))
	for i, u := range all {
		objects[i] = u
	}
	err = o.apply.WithContext(o.e.Ctx).WithDynamicLookup().WithRateLimiting(1000).WithDefaultNamespace(o.e.Apps).
		WithSetID(setID).WithOwnerKey(owner, kind).ApplyObjects(objects...)
	check.NoError(o.e, err)
}
