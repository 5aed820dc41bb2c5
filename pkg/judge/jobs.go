package judge

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/manifest"
)

// MayHaveRun reports whether an object is of a kind that is not always created again when it is gone.
func MayHaveRun(id manifest.ID) bool { return id.Group == "batch" && id.Kind == "Job" }

// ranAlready returns why a Job that is gone must not be created again: it would run a second time. It is empty for
// every other object.
func ranAlready(id manifest.ID, desired map[string]any, last *unstructured.Unstructured) string {
	if !MayHaveRun(id) {
		return ""
	}
	if _, ttl, err := unstructured.NestedFieldNoCopy(desired, "spec", "ttlSecondsAfterFinished"); err == nil && ttl {
		return "a Job with ttlSecondsAfterFinished is deleted when it has finished; it is not run again"
	}
	if last == nil {
		return "the Job is gone and may have run; it is not run again"
	}
	conditions, _, err := unstructured.NestedSlice(last.Object, "status", "conditions")
	if err != nil {
		return ""
	}
	for _, item := range conditions {
		if cond, ok := item.(map[string]any); ok && cond["status"] == "True" &&
			(cond["type"] == "Complete" || cond["type"] == "Failed") {
			return "the Job had finished when it was deleted; it is not run again"
		}
	}
	return ""
}
