package kit

import (
	"bytes"
	"errors"
	"io"

	"github.com/rancher/wrangler/v3/pkg/apply"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
)

// OlderOperator leaves what the older operator left: it did no more than wrangler's apply, so that the same calls leave the
// same labels, annotations and field ownership. It locks once per call instead of watching.
type OlderOperator struct {
	e     *Env
	apply apply.Apply
}

// NewOlderOperator returns an older operator, whose field manager is called helm-locker.
func NewOlderOperator(e *Env) *OlderOperator {
	e.Helper()
	config := e.Cluster.RESTConfig()
	config.UserAgent = "helm-locker/v0.0.4 (linux/amd64)" // the API server names managers after it
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		e.Fatal(err)
	}
	return &OlderOperator{e: e, apply: apply.New(client, apply.NewClientFactory(config))}
}

// HelmRelease creates a HelmRelease that the older operator has claimed.
func (o *OlderOperator) HelmRelease(name string) {
	o.e.Helper()
	o.e.CreateHelmRelease(name, func(hr *v1alpha1.HelmRelease) {
		hr.Finalizers = []string{v1alpha1.LegacyFinalizer}
		hr.Annotations = map[string]string{v1alpha1.ManagedByAnnotation: o.e.Operator}
	})
}

// Lock makes the objects of a manifest what the release of that name in Apps declares, and marks them.
func (o *OlderOperator) Lock(name, manifest string) {
	o.e.Helper()
	o.Apply("object-set-applier", o.e.Apps+"/"+name, schema.FromAPIVersionAndKind("internal.cattle.io/v1alpha1", "objectSetState"), manifest)
}

// Apply applies and marks objects as any user of wrangler does, under a name and with an owner, which is called NAMESPACE/NAME.
func (o *OlderOperator) Apply(setID, owner string, kind schema.GroupVersionKind, manifest string) {
	o.e.Helper()
	var objects []runtime.Object
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewBufferString(manifest), 4096)
	for {
		u := &unstructured.Unstructured{}
		err := decoder.Decode(&u.Object)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			o.e.Fatal(err)
		}
		if len(u.Object) > 0 {
			objects = append(objects, u)
		}
	}
	err := o.apply.WithContext(o.e.Ctx).WithDynamicLookup().WithRateLimiting(1000).WithDefaultNamespace(o.e.Apps).
		WithSetID(setID).WithOwnerKey(owner, kind).ApplyObjects(objects...)
	if err != nil {
		o.e.Fatal(err)
	}
}
