package integration

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

var (
	clusterRoles = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
	namespaces   = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	jobs         = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
)

const everywhere = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "reader-{{ .Release.Namespace }}"}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
---
apiVersion: v1
kind: Namespace
metadata: {name: "{{ .Release.Namespace }}-made"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: elsewhere, namespace: "{{ .Values.other }}"}
data: {key: declared}
---
apiVersion: v1
kind: ConfigMapList
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: item-1}
  data: {key: declared}
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: item-2}
  data: {key: declared}
- apiVersion: v1
  kind: Service
  metadata: {name: item-3}
  spec: {selector: {app: web}, ports: [{port: 80}]}
`

func TestKinds_ClusterScopedOtherNamespacesAndLists(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		other := w.Namespace("other-" + w.Apps)
		w.Helm(helm, "install", "app", w.Chart("app", everywhere), "--set", "other="+other)
		w.Proxy.Reset()
		hr := w.Lock("app")
		w.ExpectNoWrites()
		check.Equal(t, hr.Status.Objects.Tracked, 6, "objects are %+v", hr.Status.Objects)
		role, namespace := "reader-"+w.Apps, w.Apps+"-made"
		rules := []any{map[string]any{"apiGroups": []any{""}, "resources": []any{"configmaps"}, "verbs": []any{"get"}}}
		w.PatchIn(clusterRoles, "", role, `{"rules":[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}]}`)
		w.WaitFieldIn(clusterRoles, "", role, "rules", rules)
		w.DeleteIn(clusterRoles, "", role)
		w.WaitFieldIn(clusterRoles, "", role, "rules", rules)
		w.At(other).Reverts("elsewhere", "declared")
		w.DeleteIn(kit.ConfigMaps, other, "elsewhere")
		w.WaitFieldIn(kit.ConfigMaps, other, "elsewhere", "data.key", "declared")
		w.Reverts("item-1", "declared")
		w.Reverts("item-2", "declared")
		w.Delete(kit.Services, "item-3")
		w.WaitField(kit.Services, "item-3", "spec.selector.app", "web")
		w.DeleteIn(namespaces, "", namespace)
		w.WaitFieldIn(namespaces, "", namespace, "status.phase", "Active")
		w.WaitReady("app", 1)
		w.Helm(helm, "uninstall", "app")
		for gvr, name := range map[schema.GroupVersionResource]string{clusterRoles: role, namespaces: namespace} {
			w.WaitGone(gvr, "", name)
		}
	})
}

// A definition and a custom resource of it in one release. Deleting the definition deletes both.
func TestKinds_DefinitionAndCustomResource(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	group := w.Apps + ".example.com"
	definition := widgetDefinition(group)
	manifest := "---\n" + w.asJSON(definition) + "\n" + widget(group)
	w.Forge(kit.ForgedRecord{Name: "app", Manifest: manifest})
	w.deleteDefinitionAtEnd(definition.GetName())
	w.CreateHelmRelease("app")
	gvr := schema.GroupVersionResource{Group: group, Version: "v1", Resource: "widgets"}
	w.WaitField(gvr, "widget", "spec.size", int64(1))
	w.WaitReady("app", 1)
	w.Patch(gvr, "widget", `{"spec":{"size":2}}`)
	w.WaitField(gvr, "widget", "spec.size", int64(1))

	old, err := w.In(kit.Definitions, "").Get(w.Ctx, definition.GetName(), metav1.GetOptions{})
	check.NoError(t, err)
	w.DeleteIn(kit.Definitions, "", definition.GetName())
	w.Eventually("the definition is created again", func() error {
		u, err := w.In(kit.Definitions, "").Get(w.Ctx, definition.GetName(), metav1.GetOptions{})
		if err == nil && (u.GetUID() == old.GetUID() || u.GetDeletionTimestamp() != nil) {
			return fmt.Errorf("it is the old one")
		}
		return err
	})
	w.WaitField(gvr, "widget", "spec.size", int64(1))
	w.WaitReady("app", 1)
	w.Patch(gvr, "widget", `{"spec":{"size":2}}`)
	w.WaitField(gvr, "widget", "spec.size", int64(1))
}

func (w *fixture) scale(name string, replicas int64) {
	w.Helper()
	patch := fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas)
	w.PatchAs(kit.Tamperer, kit.Deployments, name, patch, "scale")
}

// staysScaled fails the test when the replica count of web does not stay.
func (w *fixture) staysScaled(replicas int64) {
	w.Helper()
	w.PassFence()
	w.Eventually("the Deployment's controller has followed", func() error {
		u := w.Get(kit.Deployments, "web")
		n, there := kit.Field(u, "status.replicas").(int64)
		if (!there && replicas != 0) || n != replicas { // none is left out
			return fmt.Errorf("spec has %v, status has %v replicas", kit.Field(u, "spec.replicas"), n)
		}
		return nil
	})
	if n := kit.Field(w.Get(kit.Deployments, "web"), "spec.replicas"); n != replicas {
		w.Errorf("%d replicas became %v", replicas, n)
	}
}

const twoJobs = `
apiVersion: batch/v1
kind: Job
metadata: {name: finished}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: "example.com/main:1"}]}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: running}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: "example.com/main:1"}]}}}
`

func TestKinds_FinishedJobDoesNotRunAgain(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Helm(kit.Shared.Helm3(), "install", "app", w.Chart("app", twoJobs))
	w.Proxy.Reset()
	w.Lock("app")
	w.ExpectNoWrites()
	w.finish("finished")
	running := w.Get(jobs, "running").GetUID()
	for _, name := range []string{"finished", "running"} {
		w.deleteJob(name)
	}
	w.WaitNewObject(jobs, "running", running)
	w.PassFence()
	check.That(t, w.Get(jobs, "finished") == nil, "the finished Job runs again")
	w.saysNotRunAgain()
}

// A running Job is re-created when another user deletes it, although it has a time to live. When it has finished and
// its time to live is over, Kubernetes deletes it, and it does not run again.
func TestHostile_ADeletedJobWithATimeToLiveRuns(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	brief := strings.Replace(twoJobs, "spec: {template", "spec: {ttlSecondsAfterFinished: 5, template", 1)
	w.Installed(kit.Shared.Helm3(), "app",
		strings.Replace(brief, "spec: {template: {spec", "spec: {ttlSecondsAfterFinished: 3600, template: {spec", 1))
	running := w.Get(jobs, "running").GetUID()
	w.deleteJob("running")
	w.WaitNewObject(jobs, "running", running)
	w.WaitReady("app", 1)
	w.finish("finished")
	w.Until("the finished Job is collected", func() (any, bool) { return "it exists", w.Get(jobs, "finished") == nil })
	w.PassFence()
	w.saysNotRunAgain()
	check.That(t, w.Get(jobs, "finished") == nil, "the finished Job runs again")
}

// After a user gave it a time to live of 0, a deleted running Job looks like an ended one.
func TestHostile_ATimeToLiveThatWasAddedHoldsNoJobBack(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Installed(kit.Shared.Helm3(), "app",
		strings.Replace(twoJobs, "spec: {template", "spec: {ttlSecondsAfterFinished: 3600, template", 1))
	for name, patch := range map[string]string{
		"running":  `{"spec":{"ttlSecondsAfterFinished":0}}`,
		"finished": `{"spec":{"ttlSecondsAfterFinished":0},"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`,
	} {
		before := w.Get(jobs, name).GetUID()
		w.Patch(jobs, name, patch)
		w.deleteJob(name)
		w.WaitNewObject(jobs, name, before)
	}
	w.WaitReady("app", 1)
}

// deleteJob deletes a Job, and its Pods after it, as kubectl does.
func (w *fixture) deleteJob(name string) {
	w.Helper()
	background := metav1.DeletePropagationBackground
	check.NoError(w, w.In(jobs, w.Apps).Delete(w.Ctx, name, metav1.DeleteOptions{PropagationPolicy: &background}))
}

// saysNotRunAgain waits until the release is locked without drift, and Ready names the Job that is not run again.
func (w *fixture) saysNotRunAgain() {
	w.Helper()
	w.Eventually("Ready says what is not run again", func() error {
		hr, c := w.HelmRelease("app"), w.Condition("app", v1alpha1.ConditionReady)
		if hr.Status.Objects.Drifted != 0 || c.Reason != v1alpha1.ReasonLocked ||
			!strings.Contains(c.Message, "finished") {
			return fmt.Errorf("objects are %+v, Ready says %s", hr.Status.Objects, c.Message)
		}
		return nil
	})
}

// finish sets the status of a Job as its controller does once its Pods have succeeded.
func (w *fixture) finish(name string) {
	w.Helper()
	w.Eventually("Job "+name+" has finished", func() error {
		job, err := w.Kube.BatchV1().Jobs(w.Apps).Get(w.Ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		pods, err := w.Kube.CoreV1().Pods(w.Apps).List(w.Ctx, metav1.ListOptions{LabelSelector: "job-name=" + name})
		if err != nil {
			return err
		}
		for _, pod := range pods.Items {
			pod.Status.Phase = "Succeeded"
			if _, err := w.Kube.CoreV1().Pods(w.Apps).UpdateStatus(w.Ctx, &pod, metav1.UpdateOptions{}); err != nil {
				return err
			}
		}
		for _, c := range job.Status.Conditions {
			if c.Type == "Complete" && c.Status == "True" {
				return nil
			}
		}
		return fmt.Errorf("it has %d Pods and status %+v", len(pods.Items), job.Status)
	})
}
