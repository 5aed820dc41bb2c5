package judge

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/manifest"
)

// MayHaveRun reports whether an object is of a kind that is not always re-created after its deletion.
func MayHaveRun(id manifest.ID) bool { return id.Group == "batch" && id.Kind == "Job" }

// ranAlready returns the reason not to re-create a deleted Job: it would run a second time. It is empty for every other
// object. The last state delivered by a watch shows whether a Job ran before its deletion. But a Job without Helm's
// label is reported as gone, too, and may since have finished, and have been deleted by its time to live.
func (in *Input) ranAlready() string {
	switch {
	case !MayHaveRun(in.ID):
		return ""
	case in.Last == nil:
		return "the Job is gone and may have run; it is not run again"
	case hasFinished(in.Last):
		return "the Job had finished when it was deleted; it is not run again"
	case expires(in.Desired, in.GoneFor), expires(in.Last.Object, in.GoneFor):
		return "the Job is gone and may have finished, after which ttlSecondsAfterFinished deletes it; it is not " +
			"run again"
	}
	return ""
}

// expires reports whether a Job that finishes now is deleted within a time.
func expires(job map[string]any, within time.Duration) bool {
	seconds, set, err := unstructured.NestedInt64(job, "spec", "ttlSecondsAfterFinished")
	return err != nil || set && time.Duration(seconds)*time.Second <= within
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
