package main

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/tests/lib/kit"
)

// objectKey names an object.
type objectKey struct {
	resource        schema.GroupVersionResource
	namespace, name string
}

func (k objectKey) String() string { return k.resource.Resource + " " + k.namespace + "/" + k.name }

// resources are those of the chart.
func resources() []schema.GroupVersionResource {
	roles := schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"}
	return []schema.GroupVersionResource{kit.ConfigMaps, kit.Secrets, kit.Services, kit.Deployments, roles}
}

// objectsOf returns the objects of a manifest.
func objectsOf(manifest, namespace string) ([]*unstructured.Unstructured, error) {
	all, err := kit.DecodeManifest(manifest)
	if err != nil {
		return nil, fmt.Errorf("manifest in %s: %w", namespace, err)
	}
	for _, u := range all {
		u.SetNamespace(namespace)
	}
	return all, nil
}

// resourceOf returns the resource of an object of the chart.
func resourceOf(u *unstructured.Unstructured) schema.GroupVersionResource {
	plural, _ := meta.UnsafeGuessKindToResource(u.GroupVersionKind())
	return plural
}
