package judge

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/pkg/manifest"
	"github.com/rancher/helm-locker/pkg/rules"
)

var (
	jobKind = schema.GroupKind{Group: batchv1.GroupName, Kind: "Job"}
	podKind = schema.GroupKind{Kind: "Pod"}
)

// MayStayAway reports whether an object is not always re-created after its deletion, by its kind and the ignore rules.
func MayStayAway(id manifest.ID, ignore *rules.Matcher) bool {
	return id.GroupKind() == jobKind || id.GroupKind() == podKind || ignore.Deletion()
}

// RunsOnce reports whether an object must not run a second time: a Job, and a Pod that is not restarted after it has
// ended. content is the desired state or the live one.
func RunsOnce(id manifest.ID, content map[string]any) bool {
	switch id.GroupKind() {
	case jobKind:
		return true
	case podKind:
		policy, _, err := unstructured.NestedString(content, "spec", "restartPolicy")
		return err == nil &&
			(policy == string(corev1.RestartPolicyNever) || policy == string(corev1.RestartPolicyOnFailure))
	}
	return false
}

// notRecreated returns the reason not to re-create a deleted object: an ignore rule, or a Job or Pod that would run a
// second time. It is empty for every other object. The last state delivered by a watch shows whether the object ran
// before its deletion. But a Job without Helm's label is reported as gone, too, and may since have finished, and have
// been deleted by its time to live.
func (in *Input) notRecreated() string {
	switch {
	case in.Rules.Deletion():
		return "a rule of spec.ignore leaves the deletion of the object alone; it is not created again"
	case !RunsOnce(in.ID, in.Desired):
		return ""
	case in.Last == nil:
		return "the " + in.ID.Kind + " is gone and may have run; it is not run again"
	case hasFinished(in.ID, in.Last):
		return "the " + in.ID.Kind + " had finished when it was deleted; it is not run again"
	case expires(in.Desired, in.GoneFor):
		return "the Job is gone and may have finished, after which ttlSecondsAfterFinished deletes it; it is not " +
			"run again"
	}
	return ""
}

// expires reports whether a Job that finishes now is deleted within a time, as it is declared. The time to live of the
// live Job counts for nothing: with one of 0, any deletion of a running Job would pass for its end. No other kind has
// the field.
func expires(job map[string]any, within time.Duration) bool {
	seconds, set, err := unstructured.NestedInt64(job, "spec", "ttlSecondsAfterFinished")
	return err != nil || set && time.Duration(seconds)*time.Second <= within
}

// hasRun reports whether an object that runs once has finished.
func (in *Input) hasRun(object *unstructured.Unstructured) bool {
	return RunsOnce(in.ID, in.Desired) && hasFinished(in.ID, object)
}

// hasFinished reports whether the status of a Job or Pod is final, and its deletion is not the cause.
func hasFinished(id manifest.ID, object *unstructured.Unstructured) bool {
	if id.GroupKind() == podKind {
		return podFinished(object)
	}
	return jobFinished(object)
}

func jobFinished(job *unstructured.Unstructured) bool {
	ended := endings(job)
	return slices.Contains(ended, string(batchv1.JobComplete)) || slices.Contains(ended, string(batchv1.JobFailed))
}

// endings returns the conditions of a Job that has finished, and those because of which the Job controller finishes it.
func endings(job *unstructured.Unstructured) (kinds []string) {
	conditions, _, err := unstructured.NestedSlice(job.Object, "status", "conditions")
	if err != nil {
		return nil
	}
	for _, item := range conditions {
		cond, _ := item.(map[string]any)
		kind, _ := cond["type"].(string)
		switch batchv1.JobConditionType(kind) {
		case batchv1.JobComplete, batchv1.JobFailed, batchv1.JobSuccessCriteriaMet, batchv1.JobFailureTarget:
			if cond["status"] == string(corev1.ConditionTrue) {
				kinds = append(kinds, kind)
			}
		}
	}
	return kinds
}

// podFinished reports whether all containers of a Pod had ended before its deletion was requested. A deletion ends the
// containers of a running Pod, and its phase is final, too, before it is gone.
func podFinished(pod *unstructured.Unstructured) bool {
	phase, _, err := unstructured.NestedString(pod.Object, "status", "phase")
	if err != nil || phase != string(corev1.PodSucceeded) && phase != string(corev1.PodFailed) {
		return false
	}
	deleted := pod.GetDeletionTimestamp()
	if deleted == nil {
		return true
	}
	var grace time.Duration
	if seconds := pod.GetDeletionGracePeriodSeconds(); seconds != nil {
		grace = time.Duration(*seconds) * time.Second
	}
	requested := deleted.Add(-grace)
	statuses, _, err := unstructured.NestedSlice(pod.Object, "status", "containerStatuses")
	return err == nil && !slices.ContainsFunc(statuses, func(status any) bool {
		text, _, err := unstructured.NestedString(map[string]any{"status": status},
			"status", "state", "terminated", "finishedAt")
		if err != nil {
			return true
		}
		ended, err := time.Parse(time.RFC3339, text)
		return err != nil || !ended.Before(requested)
	})
}
