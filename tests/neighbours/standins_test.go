package neighbours

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// image is where the image of the Deployment web is.
const image = "/spec/template/spec/containers/0/image"

var validators = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1",
	Resource: "validatingwebhookconfigurations"}

var bundles atomic.Int64

// bundle returns a new certificate authority accepted by the API server.
func bundle() string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "-----BEGIN CERTIFICATE-----%d", bundles.Add(1)))
}

// reloaded returns variables with Reloader's one at the end.
func reloaded(variables []corev1.EnvVar, value string) []corev1.EnvVar {
	const name = "STAKATER_SETTINGS_CONFIGMAP"
	others := slices.DeleteFunc(variables, func(v corev1.EnvVar) bool { return v.Name == name })
	return append(others, corev1.EnvVar{Name: name, Value: value})
}

// rewriteImage is a webhook that moves images to a registry.
func rewriteImage(object map[string]any) []string {
	name, ok := at(&unstructured.Unstructured{Object: object}, image).(string)
	if !ok || strings.HasPrefix(name, "registry.local/") {
		return nil
	}
	return []string{fmt.Sprintf(`{"op":"replace","path":%q,"value":%q}`, image, "registry.local/"+name)}
}

// insist runs a controller that applies the key of a ConfigMap by force whenever it has been changed. The returned
// function stops it and returns its error.
func (w *fixture) insist(name string) (stop func() error) {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Ctx)
	client, force := w.In(kit.ConfigMaps, w.Apps), true
	content := fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q},"data":{"key":"mine"}}`, name)
	events, err := client.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	check.NoError(w, err)
	done := make(chan error, 1)
	go func() {
		defer close(done)
		for event := range events.ResultChan() {
			if u, ok := event.Object.(*unstructured.Unstructured); !ok || kit.Field(u, "data.key") == "mine" {
				continue
			}
			_, err := client.Patch(ctx, name, types.ApplyPatchType, content,
				metav1.PatchOptions{FieldManager: "applier", Force: &force})
			if err != nil && ctx.Err() == nil {
				done <- err
				return
			}
		}
	}()
	return func() error {
		cancel()
		events.Stop()
		return <-done
	}
}
