package page

import (
	"encoding/json"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// Many releases: 20 applications of 50 teams. They are claimed by another operator, so that they keep the statuses
// set by the test.
const (
	many       = 1000
	apps       = 20
	another    = "another-operator"
	driftedNow = "team-07/cart"
	fought     = "team-31/search"
)

var appNames = [apps]string{"cart", "catalog", "search", "checkout", "payments", "invoices", "mailer", "images",
	"sessions", "reviews", "wishlist", "stock", "prices", "shipping", "returns", "reports", "audit", "login", "profile",
	"gateway"}

// manyReleases makes the releases.
func (w *fixture) manyReleases() {
	w.Helper()
	var group errgroup.Group
	group.SetLimit(8)
	now, policy := time.Now(), w.makePolicy("shops")
	for i := range many {
		group.Go(func() error { return w.makeRelease(i, now, policy) })
	}
	check.NoError(w, group.Wait())
}

// makePolicy makes a policy claimed by the other operator, and returns a reference to it.
func (w *fixture) makePolicy(name string) metav1.OwnerReference {
	w.Helper()
	resource := v1alpha1.SchemeGroupVersion.WithResource("helmreleasepolicies")
	made, err := w.In(resource, w.Operator).Create(w.Ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.SchemeGroupVersion.String(), "kind": v1alpha1.PolicyKind,
		"metadata": map[string]any{"name": name, "annotations": map[string]any{v1alpha1.ManagedByAnnotation: another}},
		"spec":     map[string]any{"match": map[string]any{"namespaces": []any{"team-*"}}},
	}}, metav1.CreateOptions{})
	check.NoError(w, err)
	return *metav1.NewControllerRef(made, made.GroupVersionKind())
}

// makeRelease makes a HelmRelease; the policy owns those of the first ten teams.
func (w *fixture) makeRelease(i int, now time.Time, policy metav1.OwnerReference) error {
	team, app := fmt.Sprintf("team-%02d", i/apps), appNames[i%apps]
	hr := &v1alpha1.HelmRelease{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "HelmRelease"},
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Operator, Name: team + "-" + app,
			Annotations: map[string]string{v1alpha1.ManagedByAnnotation: another}},
		Spec: v1alpha1.HelmReleaseSpec{Release: v1alpha1.ReleaseReference{Namespace: team, Name: app}},
	}
	hr.Spec.Suspend = i%53 == 5
	if i < 10*apps {
		hr.OwnerReferences = []metav1.OwnerReference{policy}
	}
	hr.Status = statusOf(i, team, app, now)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(hr)
	if err != nil {
		return err
	}
	status := content["status"]
	delete(content, "status")
	client := w.In(kit.HelmReleases, w.Operator)
	if _, err := client.Create(w.Ctx, &unstructured.Unstructured{Object: content}, metav1.CreateOptions{}); err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	_, err = client.Patch(w.Ctx, hr.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

// statusOf gives every 53rd release a suspension, every 41st no lock, every 29th mode Detect, every 7th a reverted
// drift, and two of them a current drift.
func statusOf(i int, team, app string, now time.Time) v1alpha1.HelmReleaseStatus {
	locked, reason, message := metav1.ConditionTrue, v1alpha1.ReasonLocked, "revision 3 is locked: 10 objects"
	status := v1alpha1.HelmReleaseStatus{State: v1alpha1.StateDeployed, Version: 3, Revision: 3,
		Objects: v1alpha1.ObjectCounts{Tracked: 10}}
	switch name := team + "/" + app; {
	case name == driftedNow:
		status.Objects.Drifted = 2
		reason, message = v1alpha1.ReasonDriftDetected, "2 objects differ and are about to be restored"
	case name == fought:
		status.Objects.Drifted, status.Objects.Contended = 1, 1
		reason = v1alpha1.ReasonFightDetected
		message = "Deployment.apps " + name + ": kube-autoscaler keeps changing spec.replicas"
	case i%53 == 5:
		locked, reason, message = metav1.ConditionFalse, v1alpha1.ReasonSuspended, "suspended until it is resumed"
	case i%41 == 3:
		locked, reason = metav1.ConditionFalse, v1alpha1.ReasonDecodeFailed
		message = "the record of revision 3 is no gzip"
	case i%29 == 2:
		locked, reason, message = metav1.ConditionFalse, v1alpha1.ReasonDetectOnly, "revision 3 is watched: 10 objects"
	}
	since := metav1.NewTime(now.Add(-time.Duration(i+1) * time.Hour))
	for _, condition := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionLocked} {
		status.Conditions = append(status.Conditions, metav1.Condition{Type: condition, Status: locked, Reason: reason,
			Message: message, LastTransitionTime: since})
	}
	if i%7 == 0 || status.Objects.Drifted > 0 {
		for n := range 3 {
			at := now.Add(-time.Duration(3*i+n) * time.Minute)
			status.RecentDrift = append(status.RecentDrift, driftRecord(team, app, at))
		}
	}
	return status
}

func driftRecord(team, app string, at time.Time) v1alpha1.DriftRecord {
	return v1alpha1.DriftRecord{
		Time:      metav1.NewMicroTime(at),
		Object:    v1alpha1.DriftedObject{Group: "apps", Kind: "Deployment", Namespace: team, Name: app},
		Operation: v1alpha1.DriftModified, Paths: []string{"/spec/replicas"}, FieldManager: "kubectl-scale",
		Subresource: "scale", Action: v1alpha1.DriftActionReverted,
		Duration: &metav1.Duration{Duration: 12 * time.Millisecond},
	}
}

// drift has one more drift of a release reported.
func (w *fixture) drift(team, app string) {
	w.Helper()
	w.setStatus(team+"-"+app, statusOf(0, team, app, time.Now()))
}
