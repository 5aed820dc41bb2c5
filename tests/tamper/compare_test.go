package tamper

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/rancher/helm-locker/tests/lib/kit"
)

// identity reports whether two states are of one object, or of one and its successor.
type identity bool

const (
	same      identity = false
	successor identity = true
)

// content returns the fields of a live object that have to be restored.
func (o *object) content(u *unstructured.Unstructured, id identity) map[string]any {
	c := runtime.DeepCopyJSON(u.Object)
	delete(c, "status")
	remove := func(path ...string) { unstructured.RemoveNestedField(c, path...) }
	for _, field := range []string{"managedFields", "resourceVersion", "generation"} {
		remove("metadata", field)
	}
	// Controllers count in these.
	remove("metadata", "annotations", "deployment.kubernetes.io/revision")
	remove("metadata", "annotations", "deprecated.daemonset.template.generation")
	if o.autoscaled {
		// While the autoscaler's range is tampered with, it may choose others.
		remove("spec", "replicas")
	}
	o.withoutLeft(c)
	switch u.GetKind() {
	case "Service":
		o.withoutAllocations(c)
	case "ClusterRole":
		if c["aggregationRule"] != nil {
			delete(c, "rules") // a controller puts them together, of roles that are tampered with, too
		}
	case "Job":
		// The API server gives a Job without labels those of its template, which contain its uid.
		remove("metadata", "labels", "controller-uid")
		remove("metadata", "labels", "batch.kubernetes.io/controller-uid")
		remove("metadata", "labels", "job-name")
		remove("metadata", "labels", "batch.kubernetes.io/job-name")
	}
	if id == same {
		return c
	}
	remove("metadata", "uid")
	remove("metadata", "creationTimestamp")
	switch u.GetKind() {
	case "Service":
		remove("spec", "clusterIP")
		remove("spec", "clusterIPs")
	case "Job":
		// The API server selects the Pods of a Job by its uid.
		remove("spec", "selector")
		for _, label := range []string{"controller-uid", "batch.kubernetes.io/controller-uid"} {
			remove("spec", "template", "metadata", "labels", label)
		}
	}
	return c
}

// withoutAllocations removes the ports chosen by the API server: a restored port or type gets the next free number,
// unless the chart declares it.
func (o *object) withoutAllocations(c map[string]any) {
	unstructured.RemoveNestedField(c, "spec", "healthCheckNodePort")
	declared := map[any]bool{}
	for _, p := range elements(o.declared.Object, "spec", "ports") {
		declared[p["nodePort"]] = true
	}
	for _, p := range elements(c, "spec", "ports") {
		if !declared[p["nodePort"]] {
			delete(p, "nodePort")
		}
	}
}

// elements returns the maps in a list, not copied.
func elements(object map[string]any, path ...string) []map[string]any {
	value, _, err := unstructured.NestedFieldNoCopy(object, path...)
	list, ok := value.([]any)
	if err != nil || !ok {
		return nil
	}
	var found []map[string]any
	for _, e := range list {
		if m, ok := e.(map[string]any); ok {
			found = append(found, m)
		}
	}
	return found
}

// difference describes the first place where two values differ; it is empty when there is none.
func difference(before, after any) string {
	if err := kit.Difference(before, after, "", nil); err != nil {
		return err.Error()
	}
	return ""
}
