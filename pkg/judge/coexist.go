package judge

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/drift"
	"github.com/rancher/helm-locker/pkg/manifest"
)

// Coexist removes from a desired object the fields that the manifest leaves to others, and returns the exceptions. The
// object must be resolved, and its content the caller's own. Only the manifest decides, so no live object gains an
// exemption.
//
//   - an empty caBundle in the manifest: a controller (cert-manager's cainjector, say) fills it in
//   - the rules of an aggregated ClusterRole: the manifest package leaves them out already
//
// It reports the annotations of Kubernetes' controllers, and leaves them in: see Input.Ignore.
func Coexist(o *manifest.Object) []v1alpha1.Exception {
	if names := ofControllers(o.ID, o.Content); len(names) > 0 {
		paths := make([]string, len(names))
		for i, name := range names {
			paths[i] = drift.Pointer("metadata", "annotations", name)
		}
		return []v1alpha1.Exception{ExceptionOf(o.ID, v1alpha1.ExceptionSetByKubernetes, "", paths...)}
	}
	switch o.ID.Group + "/" + o.ID.Kind {
	case "rbac.authorization.k8s.io/ClusterRole":
		if _, aggregated := o.Content["aggregationRule"].(map[string]any); aggregated {
			return []v1alpha1.Exception{ExceptionOf(o.ID, v1alpha1.ExceptionAggregated, "", "/rules")}
		}
	case "admissionregistration.k8s.io/ValidatingWebhookConfiguration",
		"admissionregistration.k8s.io/MutatingWebhookConfiguration":
		webhooks, ok := o.Content["webhooks"].([]any)
		if !ok {
			return nil
		}
		var left []string
		for i, item := range webhooks {
			webhook, ok := item.(map[string]any)
			if ok && leaveCABundle(o, webhook, "webhooks", strconv.Itoa(i), "clientConfig") {
				left = append(left, fmt.Sprintf("/webhooks/%d/clientConfig/caBundle", i))
			}
		}
		return caBundles(o.ID, left)
	case "apiregistration.k8s.io/APIService":
		// Without a service the API server itself serves the version, and there is nothing to inject.
		spec, ok := o.Content["spec"].(map[string]any)
		if _, service := spec["service"].(map[string]any); ok && service && leaveCABundle(o, o.Content, "spec") &&
			!drift.TakesNoCABundle(o.Content) {
			return caBundles(o.ID, []string{"/spec/caBundle"})
		}
	case "apiextensions.k8s.io/CustomResourceDefinition":
		webhook, ok, err := unstructured.NestedFieldNoCopy(o.Content, "spec", "conversion", "webhook")
		if config, isMap := webhook.(map[string]any); ok && err == nil && isMap &&
			leaveCABundle(o, config, "spec", "conversion", "webhook", "clientConfig") {
			return caBundles(o.ID, []string{"/spec/conversion/webhook/clientConfig/caBundle"})
		}
	}
	return nil
}

func caBundles(id manifest.ID, paths []string) []v1alpha1.Exception {
	if len(paths) == 0 {
		return nil
	}
	return []v1alpha1.Exception{ExceptionOf(id, v1alpha1.ExceptionCABundle, "", paths...)}
}

// leaveCABundle takes an empty caBundle out of the field of parent that has it, at path in o, and reports whether the
// manifest declares none there.
func leaveCABundle(o *manifest.Object, parent map[string]any, path ...string) bool {
	config, ok := parent[path[len(path)-1]].(map[string]any)
	if !ok {
		return false
	}
	declared, found := config["caBundle"]
	if !found {
		o.Leave(nil, append(path, "caBundle")...)
		return true
	}
	text, ok := declared.(string)
	if !ok {
		return false
	}
	// Charts write a single line break to pass the API server's validation, which used to require a value.
	plain, err := base64.StdEncoding.DecodeString(text)
	if err != nil || strings.TrimSpace(string(plain)) != "" {
		return false
	}
	delete(config, "caBundle")
	o.Leave(text, append(path, "caBundle")...)
	return true
}

// ExceptionOf returns an entry of status.exceptions.
func ExceptionOf(id manifest.ID, reason v1alpha1.ExceptionReason, message string, paths ...string) v1alpha1.Exception {
	return v1alpha1.Exception{
		Object: ObjectOf(id), Reason: reason, Paths: paths, Message: message,
	}
}

// ObjectOf returns an object as the API names it.
func ObjectOf(id manifest.ID) v1alpha1.DriftedObject {
	return v1alpha1.DriftedObject{Group: id.Group, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
}
