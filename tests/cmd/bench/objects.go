package main

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// declared is the declared value of the field that the bench tampers with.
	declared      = "declared"
	declaredImage = "registry.example/shop/web:1.0.0"

	managedByLabel = "app.kubernetes.io/managed-by"
	// benchLabel selects, for the observer, the objects of both sides.
	benchLabel = "bench"
	// The floor's objects carry a label of the same form as Helm's: neither side sees the other's events.
	managedByHelm, managedByFloor = "Helm", "Floor"
)

// object is a ConfigMap or a Deployment of a release. Its zero value is none; it is comparable.
type object struct {
	deployment      bool
	namespace, name string
	// release is the name of the release; empty for the floor's objects.
	release string
}

func (o object) resource() string {
	if o.deployment {
		return "deployments"
	}
	return "configmaps"
}

// objects returns n objects of a release, ConfigMaps and Deployments by turns.
func objects(namespace, release, prefix string, n int) []object {
	all := make([]object, 0, n)
	for i := range n {
		all = append(all, object{deployment: i%2 == 1, namespace: namespace, name: fmt.Sprintf("%s-%d", prefix, i),
			release: release})
	}
	return all
}

// declaredContent returns the object as a chart would declare it.
func (o object) declaredContent() map[string]any {
	labels := map[string]any{benchLabel: "object", "app.kubernetes.io/name": o.name}
	meta := map[string]any{"name": o.name, "namespace": o.namespace, "labels": labels}
	if !o.deployment {
		return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": map[string]any{
			"value": declared, "application.yaml": strings.Repeat("some: configuration of the usual length\n", 10),
		}}
	}
	pod := map[string]any{
		"containers": containers(), "serviceAccountName": "default",
		"volumes": []any{map[string]any{"name": "config", "configMap": map[string]any{"name": o.name}}},
	}
	selector := map[string]any{"app.kubernetes.io/name": o.name}
	return map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": map[string]any{
		"replicas": int64(2), "selector": map[string]any{"matchLabels": selector},
		"template": map[string]any{"metadata": map[string]any{"labels": selector}, "spec": pod},
	}}
}

func containers() []any {
	probe := map[string]any{"httpGet": map[string]any{"path": "/healthz", "port": "http"}}
	return []any{map[string]any{
		"name": "web", "image": declaredImage, "args": []any{"serve", "--config=/etc/web/application.yaml"},
		"env": []any{
			map[string]any{"name": "LOG_LEVEL", "value": "info"}, map[string]any{"name": "REGION", "value": "eu-1"},
			map[string]any{"name": "POD", "valueFrom": map[string]any{"fieldRef": map[string]any{"fieldPath": "metadata.name"}}},
		},
		"ports":         []any{map[string]any{"name": "http", "containerPort": int64(8080)}},
		"livenessProbe": probe, "readinessProbe": probe,
		"resources": map[string]any{
			"requests": map[string]any{"cpu": "100m", "memory": "64Mi"}, "limits": map[string]any{"memory": "128Mi"},
		},
		"volumeMounts": []any{map[string]any{"name": "config", "mountPath": "/etc/web"}},
	}}
}

// liveContent returns the object as Helm creates it: as declared, with Helm's ownership metadata. Those of the floor
// carry the same, with another value.
func (o object) liveContent() map[string]any {
	content := o.declaredContent()
	u := unstructured.Unstructured{Object: content}
	labels := u.GetLabels()
	labels[managedByLabel] = managedByHelm
	if o.release == "" {
		labels[managedByLabel] = managedByFloor
	}
	u.SetLabels(labels)
	u.SetAnnotations(map[string]string{"meta.helm.sh/release-name": o.release,
		"meta.helm.sh/release-namespace": o.namespace})
	return content
}

// restoring is the content of the merge patch that restores the object.
func (o object) restoring() map[string]any {
	if !o.deployment {
		return map[string]any{"data": map[string]any{"value": declared}}
	}
	return map[string]any{
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": containers()}}},
	}
}

// isDeclared reports whether a live object is as declared.
func isDeclared(obj metav1.Object) bool {
	switch x := obj.(type) {
	case *corev1.ConfigMap:
		return x.Data["value"] == declared
	case *appsv1.Deployment:
		c := x.Spec.Template.Spec.Containers
		return len(c) == 1 && c[0].Image == declaredImage
	}
	return false
}

// isDeclaredUnstructured is isDeclared for the result of a dynamic client.
func isDeclaredUnstructured(u *unstructured.Unstructured) bool {
	if u.GetKind() == "ConfigMap" {
		data, ok := u.Object["data"].(map[string]any)
		return ok && data["value"] == declared
	}
	list, found, err := unstructured.NestedFieldNoCopy(u.Object, "spec", "template", "spec", "containers")
	if err != nil || !found {
		return false
	}
	items, ok := list.([]any)
	if !ok || len(items) != 1 {
		return false
	}
	c, ok := items[0].(map[string]any)
	return ok && c["image"] == declaredImage
}
