package chart

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// installKind creates the definition of a namespaced kind with a schema of its spec, unless it exists, and waits
// until it is served.
func installKind(e *kit.Env, group, kind, plural, spec string) {
	e.Helper()
	text := fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[3]s.%[1]s}
spec:
  group: %[1]s
  scope: Namespaced
  names: {kind: %[2]s, plural: %[3]s}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: %[4]s}}}}
`, group, kind, plural, spec)
	u := &unstructured.Unstructured{}
	check.NoError(e, yaml.Unmarshal([]byte(text), &u.Object))
	if _, err := e.Dynamic.Resource(kit.Definitions).Create(e.Ctx, u, metav1.CreateOptions{}); err != nil &&
		!apierrors.IsAlreadyExists(err) {
		e.Fatal(err)
	}
	e.Eventually(kind+" is served", func() error {
		_, err := e.Dynamic.Resource(schema.GroupVersionResource{Group: group, Version: "v1",
			Resource: plural}).List(e.Ctx, metav1.ListOptions{})
		return err
	})
}
