package tamper

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/rancher/helm-locker/tests/lib/kit"
)

// object is one object of a release.
type object struct {
	// declared is the object as in the manifest, with its namespace, and with the stringData of a Secret folded
	// into data.
	declared *unstructured.Unstructured
	// resource is where the live object is; path and collection are the object and its kind on the wire.
	resource         dynamic.ResourceInterface
	path, collection string
	// autoscaled is set where a HorizontalPodAutoscaler of the chart sets the replicas.
	autoscaled bool
	// sent are the fields in the server-side apply of Helm; nil for an object without one.
	sent *fieldpath.Set
}

func (o *object) name() string { return o.declared.GetName() }

func (o *object) String() string { return o.declared.GetKind() + " " + o.name() }

// builtIn reports whether the API server knows the kind by itself.
func (o *object) builtIn() bool {
	group := o.declared.GroupVersionKind().Group
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

func (o *object) isDefinition() bool { return o.declared.GetKind() == "CustomResourceDefinition" }

func (o *object) get(ctx context.Context) (*unstructured.Unstructured, error) {
	u, err := o.resource.Get(ctx, o.name(), metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", o, err)
	}
	return u, nil
}

// manifest returns the objects of the release as Helm stored them.
func (ch *chart) manifest(ctx context.Context) ([]*unstructured.Unstructured, error) {
	manifest, err := ch.helm.Run(ctx, "get", "manifest", ch.release, "--namespace", ch.release)
	if err != nil {
		return nil, err
	}
	declared, err := kit.DecodeManifest(manifest)
	if err != nil {
		return nil, fmt.Errorf("decode the manifest of %s: %w", ch, err)
	}
	return declared, nil
}

// revise reads the new revision's declarations of the same objects.
func (ch *chart) revise(ctx context.Context) error {
	declared, err := ch.manifest(ctx)
	if err != nil {
		return err
	}
	for i, u := range declared {
		if i >= len(ch.objects) || u.GetKind() != ch.objects[i].declared.GetKind() ||
			u.GetName() != ch.objects[i].name() {
			return fmt.Errorf("%s %s of %s is not where it was in the manifest", u.GetKind(), u.GetName(), ch)
		}
		u.SetNamespace(ch.objects[i].declared.GetNamespace())
		ch.objects[i].declared = u
	}
	return nil
}

// resolve finds the objects of the release in the cluster, by the manifest in Helm's record.
func (ch *chart) resolve(
	ctx context.Context, client dynamic.Interface, mapper *restmapper.DeferredDiscoveryRESTMapper,
) error {
	declared, err := ch.manifest(ctx)
	if err != nil {
		return err
	}
	autoscaled := map[string]bool{}
	for _, u := range declared {
		gvk := u.GroupVersionKind()
		mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			return fmt.Errorf("find the resource of %s: %w", gvk, err)
		}
		o := &object{declared: u, resource: client.Resource(mapping.Resource)}
		o.collection = "/apis/" + gvk.GroupVersion().String()
		if gvk.Group == "" {
			o.collection = "/api/" + gvk.Version
		}
		if mapping.Scope.Name() == "namespace" {
			if u.GetNamespace() == "" {
				u.SetNamespace(ch.release)
			}
			o.resource = client.Resource(mapping.Resource).Namespace(u.GetNamespace())
			o.collection += "/namespaces/" + u.GetNamespace()
		}
		o.collection += "/" + mapping.Resource.Resource
		o.path = o.collection + "/" + u.GetName()
		ch.objects = append(ch.objects, o)
		if target, _,
			err := unstructured.NestedStringMap(u.Object, "spec", "scaleTargetRef"); err == nil && target != nil {
			autoscaled[target["kind"]+" "+target["name"]] = true
		}
	}
	for _, o := range ch.objects {
		o.autoscaled = autoscaled[o.String()]
	}
	return nil
}
