//go:build linux

package node

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// workload is a chart whose Pods run: SPEC is what they have in common.
const workload = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      SPEC
      containers:
      - {name: web, image: IMAGE, args: [serve], CONFINED, ports: [{containerPort: 8080}],
         readinessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: data}
spec:
  serviceName: data
  selector: {matchLabels: {app: data}}
  template:
    metadata: {labels: {app: data}}
    spec:
      SPEC
      containers:
      - {name: data, image: IMAGE, args: [write, /data/file], CONFINED, volumeMounts: [{name: data, mountPath: /data}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], storageClassName: {{ .Release.Namespace }}, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Service
metadata: {name: data}
spec: {clusterIP: None, selector: {app: data}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      SPEC
      containers: [{name: agent, image: IMAGE, CONFINED}]
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: tick}
spec:
  schedule: "* * * * *"
  jobTemplate:
    spec:
      template:
        spec:
          SPEC
          restartPolicy: Never
          containers: [{name: tick, image: IMAGE, args: [once], CONFINED}]
`

var workloads = []schema.GroupVersionResource{kit.Deployments, kit.Services,
	{Group: "apps", Version: "v1", Resource: "statefulsets"}, {Group: "apps", Version: "v1", Resource: "daemonsets"},
	{Group: "batch", Version: "v1", Resource: "cronjobs"}}

// upgradeWorkload installs or upgrades the release of the workload, and waits until its Pods are Ready.
func (f *fixture) upgradeWorkload(h cluster.Helm, replicas int) {
	f.Helper()
	chart, err := cluster.Chart(f.TempDir(), "work", "0.1.0", map[string]string{"all.yaml": confined(workload)},
		"replicas: 1")
	check.NoError(f, err)
	f.Helm(h, "upgrade", "--install", "work", chart, "--set", fmt.Sprint("replicas=", replicas), "--wait", "--timeout", "3m")
}

// Real Pods of every kind of workload: nothing that kubelet, the scheduler and the controllers write is drift, nor is
// what an eviction, a stopped kubelet and a crash cause. Tampering is.
func TestNode_AWorkloadThatRuns(t *testing.T) {
	f := newFixture(t)
	h := shared.Cluster.Helm4()
	f.install(shared.Cluster.Helm3())
	f.volume("data-data-0", f.Apps)
	f.upgradeWorkload(h, 1)
	f.Lock("work")
	versions := f.specs()

	begun := time.Now()
	f.upgradeWorkload(h, 2)
	f.WaitReady("work", 2)
	f.disturb()
	f.within(patience, "a Job has ended", func() error {
		jobs, err := f.Kube.BatchV1().Jobs(f.Apps).List(f.Ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, job := range jobs.Items {
			for _, c := range job.Status.Conditions {
				if c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue {
					return nil
				}
			}
		}
		return fmt.Errorf("of %d jobs none has ended", len(jobs.Items))
	})
	f.expectNoDrift("work")
	t.Logf("%d objects were locked for %s without false drift", len(versions), time.Since(begun).Round(time.Second))

	f.Kubectl("scale", "deployment/web", "--replicas=0")
	f.WaitField(kit.Deployments, "web", "spec.replicas", int64(2))
	f.Kubectl("delete", "daemonset", "agent", "--wait=false")
	f.within(patience, "the DaemonSet runs again", func() error {
		_, err := f.TryKubectl("rollout", "status", "daemonset/agent", "--timeout=1s")
		return err
	})
}

// disturb deletes the Pods of the workload, kills one and restarts the kubelet, and waits until all are Ready again.
func (f *fixture) disturb() {
	f.Helper()
	f.Kubectl("delete", "pod", "-l", "app=web", "--wait=false")
	f.Kubectl("delete", "pod", "data-0", "--wait=false")
	f.crash("app=agent")
	check.NoError(f, shared.StopKubelet())
	check.NoError(f, shared.StartKubelet(f.Ctx))
	check.NoError(f, shared.WaitReady(f.Ctx))
	f.within(patience, "the Pods are Ready again", func() error {
		for _, name := range []string{"deployment/web", "statefulset/data", "daemonset/agent"} {
			if _, err := f.TryKubectl("rollout", "status", name, "--timeout=1s"); err != nil {
				return err
			}
		}
		return nil
	})
}

// specs returns the generation of every object of the workload.
func (f *fixture) specs() map[string]int64 {
	f.Helper()
	found := map[string]int64{}
	for _, gvr := range workloads {
		list, err := f.In(gvr, f.Apps).List(f.Ctx, metav1.ListOptions{})
		check.NoError(f, err)
		for _, u := range list.Items {
			found[gvr.Resource+"/"+u.GetName()] = u.GetGeneration()
		}
	}
	return found
}

// expectNoDrift expects that a HelmRelease has never seen drift.
func (f *fixture) expectNoDrift(name string) {
	f.Helper()
	hr := f.HelmRelease(name)
	if len(hr.Status.RecentDrift) > 0 || hr.Status.Objects.Drifted > 0 {
		f.Errorf("drift was found: %+v, %+v", hr.Status.Objects, hr.Status.RecentDrift)
	}
}

// crash kills the process of a Pod.
func (f *fixture) crash(selector string) {
	f.Helper()
	pods, err := f.Kube.CoreV1().Pods(f.Apps).List(f.Ctx, metav1.ListOptions{LabelSelector: selector})
	check.NoError(f, err)
	check.NoError(f, shared.Kill(f.Ctx, pods.Items[0].Status.ContainerStatuses[0].ContainerID))
}

// A memory limit too small for the operator, which starts with 16Mi: the new Pod is killed by the kernel again and
// again, the old one goes on working, and no write is blocked.
func TestNode_AMemoryLimitThatIsTooSmall(t *testing.T) {
	f := newFixture(t)
	f.guarded()
	h := shared.Cluster.Helm4()
	requests := f.begin()
	_, err := h.Run(f.Ctx, "upgrade", "helm-locker", shared.Chart, "--namespace", f.Operator, "--reuse-values",
		"--set", "resources.limits.memory=9Mi,resources.requests.memory=8Mi")
	check.NoError(t, err)
	f.within(patience, "the new Pod was killed for its memory, twice", func() error {
		for _, p := range f.pods("helm-locker-") {
			for _, s := range p.Status.ContainerStatuses {
				last := s.LastTerminationState.Terminated
				if s.RestartCount > 1 && last != nil && last.Reason == "OOMKilled" {
					return nil
				}
			}
		}
		return fmt.Errorf("it was not")
	})
	f.install(h, "guard: {enabled: true}")
	f.denies()
	requests.expect(t, lease)
}
