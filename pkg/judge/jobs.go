package judge

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
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
	if hasFinished(last) {
		return "the Job had finished when it was deleted; it is not run again"
	}
	return ""
}

// finishes reports whether a request for the status of a Job ends it without the Job controller: a Job that has
// finished is not re-created. The manifest may leave the Job to another controller.
func (a *Admission) finishes() bool {
	if !MayHaveRun(a.ID) || !hasFinished(a.After) || hasFinished(a.Before) || a.By.isOfCluster() {
		return false
	}
	manager, managed, err := unstructured.NestedString(a.Before.Object, "spec", "managedBy")
	return !managed || err != nil || manager == batchv1.JobControllerName
}

// hasFinished reports whether the status of a Job is final.
func hasFinished(job *unstructured.Unstructured) bool {
	conditions, _, err := unstructured.NestedSlice(job.Object, "status", "conditions")
	return err == nil && slices.ContainsFunc(conditions, func(item any) bool {
		cond, ok := item.(map[string]any)
		return ok && cond["status"] == "True" && (cond["type"] == "Complete" || cond["type"] == "Failed")
	})
}
