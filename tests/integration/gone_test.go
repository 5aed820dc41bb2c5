package integration

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// An object that loses Helm's label appears as deleted to the watch. The operator then creates it without a read.
// This must not mislead it where the API server refuses the creation for another reason than that the object exists,
// where the operator does not create, and where it only reports.
const labelled = `
apiVersion: v1
kind: Service
metadata: {name: fixed}
spec: {clusterIP: %s, selector: {app: some}, ports: [{name: http, port: 80}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec:
  ttlSecondsAfterFinished: 3600
  template: {spec: {restartPolicy: Never, containers: [{name: main, image: "example.com/main:1"}]}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {key: declared}
`

const noLabel = `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`

func TestI5_LostLabelIsNotTakenForADeletion(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Installed(kit.Shared.Helm3(), "app", fmt.Sprintf(labelled, "10.96.77.7"))
	service, job := w.Get(kit.Services, "fixed").GetUID(), w.Get(jobs, "once").GetUID()
	// A Job may stay away, so it is read, and not created: also when the API server does not answer at first.
	w.Proxy.Reset()
	reads := cluster.ForResource("jobs", http.MethodGet).And(func(r *http.Request) bool { return !cluster.IsWatch(r) })
	w.Proxy.On(reads.First(2), cluster.Fail(http.StatusInternalServerError, "on purpose"))
	w.Patch(kit.Services, "fixed", noLabel)
	w.Patch(jobs, "once", noLabel)
	for _, of := range []string{"the Service", "the Job"} {
		w.Eventually("the label of "+of+" is back", func() error {
			u := w.Get(kit.Services, "fixed")
			if of == "the Job" {
				u = w.Get(jobs, "once")
			}
			if got := u.GetLabels()["app.kubernetes.io/managed-by"]; got != "Helm" ||
				u.GetUID() != service && u.GetUID() != job {
				return fmt.Errorf("it is %q, uid %s", got, u.GetUID())
			}
			return nil
		})
	}
	for _, r := range w.Proxy.Writes() {
		if r.Resource() == "jobs" && r.Method == http.MethodPost {
			t.Errorf("a Job that is there was created: %s", r)
		}
	}
	w.Eventually("two lost labels are reported", func() error {
		recent := w.HelmRelease("app").Status.RecentDrift
		for _, d := range recent {
			check.Must(t, d.Operation == v1alpha1.DriftRemoved && d.Action == v1alpha1.DriftActionReverted,
				"recent drift is %+v", recent)
		}
		if len(recent) != 2 {
			return fmt.Errorf("recent drift is %+v", recent)
		}
		return nil
	})
	w.WaitReady("app", 1)
}

func TestI5_LostLabelIsReportedAsSuchInModeDetect(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Helm(kit.Shared.Helm4(), "install", "app", w.Chart("app", fmt.Sprintf(labelled, "10.96.77.8")))
	w.CreateHelmRelease("app", func(hr *v1alpha1.HelmRelease) { hr.Spec.Mode = v1alpha1.ModeDetect })
	w.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonDetectOnly)
	w.Patch(kit.ConfigMaps, "settings", noLabel)
	w.Eventually("the lost label is reported", func() error {
		recent := w.HelmRelease("app").Status.RecentDrift
		if len(recent) == 0 {
			return fmt.Errorf("nothing is")
		}
		check.Must(t, recent[0].Operation == v1alpha1.DriftRemoved, "recent drift is %+v", recent)
		return nil
	})
}

// Nobody is known to have deleted an object that did not exist when its lock began, however often it is looked for.
func TestAnObjectThatNeverExistedIsReportedAsMissing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Helm(kit.Shared.Helm4(), "install", "app", w.Chart("app", kit.ConfigMap("settings", "declared")+kit.ConfigMap("other", "declared")))
	w.Delete(kit.ConfigMaps, "settings")
	w.CreateHelmRelease("app", func(hr *v1alpha1.HelmRelease) { hr.Spec.Mode = v1alpha1.ModeDetect })
	reported := func(want ...v1alpha1.DriftOperation) {
		t.Helper()
		w.Until(fmt.Sprintf("the status has %q", want), func() (any, bool) {
			var got []v1alpha1.DriftOperation
			for _, r := range w.HelmRelease("app").Status.RecentDrift {
				got = append(got, r.Operation)
			}
			return got, slices.Equal(got, want)
		})
	}
	reported(v1alpha1.DriftMissing)
	w.Says("app", v1alpha1.ConditionDrifted, v1alpha1.ReasonDriftDetected, "/settings: missing")
	w.Eventually("the event has the word, too", func() error {
		drifted := metav1.ListOptions{FieldSelector: "reason=Drifted"}
		events, err := w.Kube.CoreV1().Events(w.Operator).List(w.Ctx, drifted)
		const text = "missing; not reverted"
		if err == nil && (len(events.Items) != 1 || !strings.Contains(events.Items[0].Message, text)) {
			err = fmt.Errorf("the events are %+v", events.Items)
		}
		return err
	})

	var expired atomic.Bool
	w.Proxy.Intercept(func(r *http.Request) cluster.Action {
		from := r.URL.Query().Get("resourceVersion")
		if cluster.WatchOf("configmaps")(r) && from != "" && from != "0" && expired.CompareAndSwap(false, true) {
			return cluster.Fail(http.StatusGone, "too old resource version")
		}
		return cluster.Forward()
	})
	w.Proxy.Reset()
	w.Proxy.CutWatches(cluster.WatchOf("configmaps"))
	w.Until("the operator looks for it again", func() (any, bool) {
		requests := w.Proxy.Requests()
		return requests, expired.Load() && slices.ContainsFunc(requests, func(r cluster.Request) bool {
			return r.Method == http.MethodGet && strings.HasSuffix(r.Path, "/configmaps/settings")
		})
	})
	w.Patch(kit.ConfigMaps, "other", `{"data":{"key":"tampered"}}`)
	reported(v1alpha1.DriftModified, v1alpha1.DriftMissing)
	w.Says("app", v1alpha1.ConditionDrifted, v1alpha1.ReasonDriftDetected, "/settings: missing")

	w.PatchHelmRelease("app", `{"spec":{"mode":"Enforce"}}`)
	w.WaitReady("app", 1)
	w.PatchHelmRelease("app", `{"spec":{"mode":"Detect"}}`)
	w.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonDetectOnly)
	w.Delete(kit.ConfigMaps, "settings")
	w.Says("app", v1alpha1.ConditionDrifted, v1alpha1.ReasonDriftDetected, "/settings: deleted")
	recent := w.HelmRelease("app").Status.RecentDrift
	check.That(t,
		recent[0].Operation == v1alpha1.DriftDeleted && slices.ContainsFunc(recent, func(r v1alpha1.DriftRecord) bool {
			return r.Operation == v1alpha1.DriftMissing && r.Action == v1alpha1.DriftActionRecreated
		}), "recent drift is %+v", recent)
}

// A read of an object that a watch reported as deleted would delay its re-creation by a request.
func TestDeletedObjectIsCreatedWithoutALook(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Installed(kit.Shared.Helm4(), "app", kit.ConfigMap("settings", "declared"))
	before := w.Get(kit.ConfigMaps, "settings").GetUID()
	w.Proxy.Reset()
	w.Delete(kit.ConfigMaps, "settings")
	w.WaitNewObject(kit.ConfigMaps, "settings", before)
	for _, r := range w.Proxy.Requests() {
		if r.Method == http.MethodGet && strings.HasSuffix(r.Path, "/configmaps/settings") {
			t.Errorf("looked: %s", r)
		}
	}
}
