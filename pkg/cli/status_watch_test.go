package cli

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/report"
	"github.com/rancher/helm-locker/tests/lib/check"
)

func TestFollowerTellsWhatHappened(t *testing.T) {
	f := &follower{now: func() time.Time { return noon }, known: map[string]*seen{}}
	var lines []string
	tell := func(event watch.EventType, hr *v1alpha1.HelmRelease) {
		for _, h := range f.next(event, hr) {
			lines = append(lines, eventText(h, report.Style{}))
		}
	}
	hr := helmRelease("web", lockedRelease)
	hr.Status.RecentDrift = []v1alpha1.DriftRecord{record(-time.Hour, v1alpha1.DriftActionReverted, nil)} // history
	tell(watch.Added, hr)
	tell(watch.Modified, hr) // nothing new
	hr.Status.Conditions[0].Reason, hr.Status.Conditions[0].Message = "DriftDetected", "being reverted"
	refused := record(time.Second, v1alpha1.DriftActionRefused, func(r *v1alpha1.DriftRecord) { r.Duration = nil })
	deleted := record(2*time.Second, v1alpha1.DriftActionRecreated, func(r *v1alpha1.DriftRecord) {
		r.Operation, r.Paths, r.FieldManager, r.Subresource = v1alpha1.DriftDeleted, nil, "", ""
	})
	hr.Status.RecentDrift = append([]v1alpha1.DriftRecord{deleted, refused}, hr.Status.RecentDrift...)
	tell(watch.Modified, hr)
	hr.Status.RecentDrift[1].Action, hr.Status.RecentDrift[1].Duration = v1alpha1.DriftActionReverted,
		&metav1.Duration{Duration: time.Second}
	tell(watch.Modified, hr)
	hr.Status.Conditions = []metav1.Condition{condition("Ready", metav1.ConditionFalse, "Transitioning",
		"Helm is at\nwork"), condition("Locked", metav1.ConditionFalse, "Transitioning", "")}
	tell(watch.Modified, hr)
	tell(watch.Deleted, hr)
	want := []string{
		"2026-01-02T12:00:00.000Z  apps/web  locked: revision 3, 4 objects",
		"2026-01-02T12:00:01.000Z  apps/web  Deployment.apps apps/web spec.replicas changed by kubectl-scale (scale): refused",
		"2026-01-02T12:00:02.000Z  apps/web  Deployment.apps apps/web deleted: recreated after 12.3ms",
		"2026-01-02T12:00:01.000Z  apps/web  Deployment.apps apps/web spec.replicas changed by kubectl-scale (scale): reverted after 1s",
		`2026-01-02T12:00:00.000Z  apps/web  not locked: Helm is at\nwork`,
		"2026-01-02T12:00:00.000Z  apps/web  not locked: the HelmRelease was deleted",
	}
	got := strings.Join(lines, "\n")
	check.That(t, got == strings.Join(want, "\n"), "got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
}
