package fidelity

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// patience is the timeout of a revert. It is shorter than that of the kit, because of the number of reverts here.
const patience = 30 * time.Second

// comes waits until the object has the wanted content and, if requested, field ownership, and reports whether it
// does.
func (o *target) comes(want map[string]any) bool {
	o.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := fmt.Errorf("it does not exist")
		if live := o.live(); live != nil {
			now := o.asLeft(live)
			if want[ownership] == nil {
				delete(now, ownership)
			}
			err = kit.Difference(want, now, "", surplus)
		}
		if err == nil {
			return true
		}
		select {
		case <-deadline.C:
			o.Errorf("it is not as Helm left it: %v", err)
			return false
		case <-tick.C:
		}
	}
}

// ownership is asLeft's key of the field ownership; it follows the content in a comparison.
const ownership = "~ownership"

// asLeft returns the parts of an object that a revert restores: its content, and field ownership by manager and
// operation. It omits fields set by the API server on every new object or by controllers, and times.
func (o *target) asLeft(live *unstructured.Unstructured) map[string]any {
	o.Helper()
	owned := map[string]any{}
	for _, entry := range live.GetManagedFields() {
		if entry.Subresource == "status" || entry.Manager == "kube-controller-manager" {
			continue
		}
		var fields map[string]any
		check.NoError(o, json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields))
		if o.gvr == kit.Secrets && entry.Operation == metav1.ManagedFieldsOperationApply {
			// Helm applies stringData, and the API server turns it into data; a revert writes data.
			delete(fields, "f:stringData")
			delete(fields, "f:data")
		}
		owned[fmt.Sprintf("%s %s %s", entry.Manager, entry.Operation, entry.Subresource)] = fields
	}
	content := live.DeepCopy().Object
	for _, path := range [][]string{
		{"status"}, {"metadata", "managedFields"}, {"metadata", "resourceVersion"}, {"metadata", "generation"},
		{"metadata", "uid"},
		{"metadata", "creationTimestamp"}, {"spec", "clusterIP"}, {"spec", "clusterIPs"},
		{"spec", "healthCheckNodePort"},
		{"metadata", "annotations", "deployment.kubernetes.io/revision"},
	} {
		unstructured.RemoveNestedField(content, path...)
	}
	if ports, ok := kit.Field(&unstructured.Unstructured{Object: content}, "spec.ports").([]any); ok {
		for _, port := range ports {
			if p, ok := port.(map[string]any); ok {
				delete(p, "nodePort")
			}
		}
		// The order of a Service's ports means nothing.
		slices.SortFunc(ports, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
	content[ownership] = owned
	return content
}

// surplus reports whether Helm's manager may own a path beside the declared fields: a defaulted field of a list
// element or the map around a field, where a controller wrote between the transfer of the ownership and the apply
// that makes it exact. It causes no conflict, and Helm's next apply drops it.
func surplus(path, key string) bool {
	path, owned := strings.CutPrefix(path, "/"+ownership+"/helm ")
	return owned && (strings.HasPrefix(path, "Apply /f:spec/f:template/") && slices.Contains([]string{".", "f:protocol",
		"f:imagePullPolicy", "f:terminationMessagePath", "f:terminationMessagePolicy", "f:resources"}, key) ||
		// A restored port keeps its allocated number; Helm's manager has written it then.
		strings.HasPrefix(path, "Update /f:spec/f:ports/") && key == "f:nodePort")
}
