package judge

import (
	"math"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/rancher/helm-locker/pkg/drift"
)

// endsJob reports whether a request for the status of a Job ends it without the Job controller, or has the controller
// end it: a Job that has finished is not re-created. The manifest may leave the Job to another controller. The same
// request for a Pod passes: the sender may be a kubelet of another make.
func (a *Admission) endsJob() bool {
	if a.ID.GroupKind() != jobKind || a.By.isOfCluster() {
		return false
	}
	before := endings(a.Before)
	if !slices.ContainsFunc(endings(a.After), func(kind string) bool { return !slices.Contains(before, kind) }) {
		return false
	}
	manager, managed, err := unstructured.NestedString(a.Before.Object, "spec", "managedBy")
	return !managed || err != nil || manager == batchv1.JobControllerName
}

// shortened returns the undeclared limits that a request sets or lowers. Kubernetes ends an object that runs once by
// them, and an object that has finished is not re-created.
func (a *Admission) shortened() (changes []drift.Change) {
	if !RunsOnce(a.ID, a.Desired) || a.hasRun(a.Before) || a.By.isOfCluster() {
		return nil
	}
	in := a.Input
	in.Live = a.After
	ignored := in.Ignore(a.Desired)
	for _, name := range []string{"activeDeadlineSeconds", "backoffLimit"} {
		path := []string{"spec", name}
		before := numberAt(a.Before.Object, math.MaxInt64, path...)
		after := numberAt(a.After.Object, math.MaxInt64, path...)
		if after < before && numberAt(a.Desired, -1, path...) < 0 && (ignored == nil || !ignored(path)) {
			changes = append(changes, drift.Change{Path: drift.Pointer(path...), Op: drift.Modified})
		}
	}
	return changes
}

// endsRun reports whether Kubernetes ends the object by a request without other drift. Such a request is not reverted.
func (a *Admission) endsRun() bool {
	return a.After != nil && a.Before != nil && (a.endsJob() || len(a.introduced()) == 0 && len(a.shortened()) > 0)
}
