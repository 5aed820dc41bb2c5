package corpus

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// identity says whether two looks are at one object, or at one and its successor.
type identity bool

const (
	same      identity = false
	successor identity = true
)

// content returns what of a live object has to be as it was.
func content(u *unstructured.Unstructured, id identity) map[string]any {
	c := runtime.DeepCopyJSON(u.Object)
	delete(c, "status")
	remove := func(path ...string) { unstructured.RemoveNestedField(c, path...) }
	for _, field := range []string{"managedFields", "resourceVersion", "generation"} {
		remove("metadata", field)
	}
	// Controllers count in these.
	remove("metadata", "annotations", "deployment.kubernetes.io/revision")
	remove("metadata", "annotations", "deprecated.daemonset.template.generation")
	if u.GetKind() == "Service" {
		// No chart of the corpus declares one. A port that is put back, or the type, gets the next free number.
		remove("spec", "healthCheckNodePort")
		if ports, ok, err := unstructured.NestedFieldNoCopy(c, "spec", "ports"); ok && err == nil {
			withoutNodePorts(ports)
		}
	}
	if id == successor {
		remove("metadata", "uid")
		remove("metadata", "creationTimestamp")
		if u.GetKind() == "Service" {
			remove("spec", "clusterIP")
			remove("spec", "clusterIPs")
		}
	}
	return c
}

func withoutNodePorts(ports any) {
	list, ok := ports.([]any)
	if !ok {
		return
	}
	for _, p := range list {
		if port, ok := p.(map[string]any); ok {
			delete(port, "nodePort")
		}
	}
}

// difference names the first place where two values differ, with both values; it is empty when there is none.
func difference(before, after any) string {
	if reflect.DeepEqual(before, after) {
		return ""
	}
	b, isMap := before.(map[string]any)
	a, wasMap := after.(map[string]any)
	if isMap && wasMap {
		keys := map[string]struct{}{}
		for key := range b {
			keys[key] = struct{}{}
		}
		for key := range a {
			keys[key] = struct{}{}
		}
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			if d := difference(b[key], a[key]); d != "" {
				return "/" + key + d
			}
		}
	}
	bl, isList := before.([]any)
	al, wasList := after.([]any)
	if isList && wasList && len(bl) == len(al) {
		for i := range bl {
			if d := difference(bl[i], al[i]); d != "" {
				return fmt.Sprintf("/%d%s", i, d)
			}
		}
	}
	return fmt.Sprintf(": was %.200s, is %.200s", fmt.Sprint(before), fmt.Sprint(after))
}
