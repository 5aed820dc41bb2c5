package enforce

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// replaceable are the kinds that may be deleted and re-created, with the losses beside the object's uid. They hold no
// data, run nothing twice, and their deletion takes no other objects along but pods, which start again. An unlisted
// kind is never replaced: a wrong deletion cannot be undone.
var replaceable = map[schema.GroupKind]string{
	{Kind: "ConfigMap"}:             "",
	{Kind: "Secret"}:                "",
	{Kind: "ServiceAccount"}:        "tokens that were bound to it",
	{Kind: "Service"}:               "its cluster IP and node ports, where the manifest declares none",
	{Kind: "ReplicationController"}: restarted,

	{Group: "apps", Kind: "ReplicaSet"}: restarted,
	{Group: "apps", Kind: "Deployment"}: restarted,
	{Group: "apps", Kind: "DaemonSet"}:  restarted,

	{Group: rbacGroup, Kind: "Role"}:               "",
	{Group: rbacGroup, Kind: "RoleBinding"}:        "",
	{Group: rbacGroup, Kind: "ClusterRole"}:        "",
	{Group: rbacGroup, Kind: "ClusterRoleBinding"}: "",

	{Group: "discovery.k8s.io", Kind: "EndpointSlice"}:        "",
	{Group: "networking.k8s.io", Kind: "IngressClass"}:        "",
	{Group: "node.k8s.io", Kind: "RuntimeClass"}:              "",
	{Group: "resource.k8s.io", Kind: "ResourceClaimTemplate"}: "",
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}:       "",
	{Group: "storage.k8s.io", Kind: "CSIDriver"}:              "",
	{Group: "storage.k8s.io", Kind: "StorageClass"}:           "provisioning while it is absent",
	{Group: "storage.k8s.io", Kind: "VolumeAttributesClass"}:  "",
}

const (
	rbacGroup = "rbac.authorization.k8s.io"
	restarted = "its pods, which start again"
)

// Replaceable reports whether objects of a kind may be deleted and re-created to revert the change of an immutable
// field, and the losses beside the object's uid.
func Replaceable(kind schema.GroupKind) (loses string, ok bool) {
	loses, ok = replaceable[kind]
	return loses, ok
}

// Immutable reports whether the API server refused a revert because a field cannot be changed. A dry run shows that it
// would accept the object if it did not exist. Without an answer the result is false.
func (e *Enforcer) Immutable(ctx context.Context, r *Revert) bool {
	w, err := e.as(r.Object)
	return err == nil && w.tryCreate(ctx, r) == nil
}

// Remove deletes the live object of a revert so that it can be created as declared. Before, a dry run under another
// name must show that it can be created. Holds must have been true after the object was observed.
func (e *Enforcer) Remove(ctx context.Context, r *Revert) error {
	if _, ok := Replaceable(r.GVK.GroupKind()); !ok {
		return fmt.Errorf("replace %s: objects of this kind are never replaced", r.Object)
	}
	w, err := e.as(r.Object)
	if err != nil {
		return err
	}
	if err := w.tryCreate(ctx, r); err != nil {
		return err
	}
	return w.remove(ctx, r.Object, r.Live)
}

// tryCreate dry-runs the creation of the object under another name. It leaves out values that two objects cannot share.
func (w *writer) tryCreate(ctx context.Context, r *Revert) error {
	obj := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(r.Desired)}
	obj.SetName("")
	obj.SetGenerateName("helm-locker-")
	if r.GVK.GroupKind() == (schema.GroupKind{Kind: "Service"}) {
		withoutAllocations(obj.Object)
	}
	_, err := w.resource(r.Object).Create(ctx, obj,
		metav1.CreateOptions{FieldManager: r.Manager, DryRun: dryRunOption(true)})
	if err != nil {
		return fmt.Errorf("it is not deleted because it could not be created again: %w", err)
	}
	return nil
}

// withoutAllocations removes from a Service the values that no second Service can have.
func withoutAllocations(service map[string]any) {
	spec, ok := service["spec"].(map[string]any)
	if !ok {
		return
	}
	if spec["clusterIP"] != "None" {
		delete(spec, "clusterIP")
		delete(spec, "clusterIPs")
	}
	delete(spec, "healthCheckNodePort")
	ports, ok := spec["ports"].([]any)
	if !ok {
		return
	}
	for _, item := range ports {
		if port, ok := item.(map[string]any); ok {
			delete(port, "nodePort")
		}
	}
}

// remove deletes an object if it still is as observed, and its dependents in the background, as Helm does.
func (w *writer) remove(ctx context.Context, o Object, live *unstructured.Unstructured) error {
	uid, version := live.GetUID(), live.GetResourceVersion()
	policy := metav1.DeletePropagationBackground
	return w.resource(o).Delete(ctx, o.Name, metav1.DeleteOptions{
		PropagationPolicy: &policy,
		Preconditions:     &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
	})
}
