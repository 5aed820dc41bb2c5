package lock

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/manifest"
)

// Range is an inclusive range of replica counts.
type Range struct{ Min, Max int64 }

// Contains says whether n is within the range.
func (r *Range) Contains(n int64) bool { return r != nil && r.Min <= n && n <= r.Max }

// AutoscaledObjects returns the objects whose replica count a HorizontalPodAutoscaler of the same manifest sets, with
// the range that it may choose from. Its choice is not drift: the manifest asked for it.
func AutoscaledObjects(objects []manifest.Object) map[manifest.ID]*Range {
	scaled := map[manifest.ID]*Range{}
	for _, o := range objects {
		if o.ID.Group != "autoscaling" || o.ID.Kind != "HorizontalPodAutoscaler" {
			continue
		}
		ref, _, err := unstructured.NestedStringMap(o.Content, "spec", "scaleTargetRef")
		if err != nil {
			continue
		}
		gv, err := schema.ParseGroupVersion(ref["apiVersion"])
		if err != nil {
			continue
		}
		r := &Range{Min: 1}
		if n, ok, err := unstructured.NestedInt64(o.Content, "spec", "minReplicas"); ok && err == nil {
			r.Min = n
		}
		if n, ok, err := unstructured.NestedInt64(o.Content, "spec", "maxReplicas"); ok && err == nil {
			r.Max = n
		}
		scaled[manifest.ID{Group: gv.Group, Kind: ref["kind"], Namespace: o.ID.Namespace, Name: ref["name"]}] = r
	}
	return scaled
}
