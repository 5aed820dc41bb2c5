package kit

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/rancher/helm-locker/tests/lib/check"
)

// Create creates an object of a manifest as Tamperer, in a namespace or in the cluster.
func (e *Env) Create(gvr schema.GroupVersionResource, namespace, manifest string) *unstructured.Unstructured {
	e.Helper()
	u := &unstructured.Unstructured{}
	check.NoError(e, yaml.Unmarshal([]byte(manifest), u))
	u, err := e.In(gvr, namespace).Create(e.Ctx, u, metav1.CreateOptions{FieldManager: Tamperer})
	check.NoError(e, err)
	return u
}
