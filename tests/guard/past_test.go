package guard

import (
	"fmt"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

var jobs = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}

// Many kinds keep labels and annotations of a request for their status. Without Helm's label no further request for the
// object would reach the guard.
func TestHostile_MetadataThroughStatus(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.guarded(kit.Shared.Helm3(), "shop", shop+`
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: LoadBalancer, selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: none, resources: {requests: {storage: 1Gi}}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}
---
apiVersion: v1
kind: Pod
metadata: {name: single}
spec: {containers: [{name: main, image: "example.com/main:1"}]}
`)
	f.inForce(kit.ConfigMaps, "settings")
	status := func(name, patch string) []string {
		return []string{"patch", name, "--subresource=status", "--type=merge", "-p", patch}
	}
	for name, gvr := range map[string]schema.GroupVersionResource{
		"service/web": kit.Services,
		"pvc/data":    {Version: "v1", Resource: "persistentvolumeclaims"},
		"ingress/web": {Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"},
		"pod/single":  {Version: "v1", Resource: "pods"},
	} {
		_, object, _ := strings.Cut(name, "/")
		f.refused(gvr, object, "metadata.labels was refused",
			status(name, `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`)...)
		f.refused(gvr, object, "metadata.annotations[meta.helm.sh/release-name] was refused",
			status(name, `{"metadata":{"annotations":{"meta.helm.sh/release-name":"other"}}}`)...)
		// A foreign label is no drift. A status is nothing to the guard.
		f.passes(status(name, `{"metadata":{"labels":{"mine":"one"}}}`)...)
	}
	decisions := kit.Metrics(f, f.Running)
	f.passes(status("service/web", `{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}}`)...)
	f.passes(status("pod/single", `{"status":{"phase":"Running"}}`)...)
	if after := kit.Metrics(f, f.Running); guardLines(after) != guardLines(decisions) {
		t.Errorf("the API server asked about a status: %s, before %s", guardLines(after), guardLines(decisions))
	}
}

// guardLines returns the counts of decisions in metrics.
func guardLines(metrics string) string {
	var lines []string
	for line := range strings.Lines(metrics) {
		if strings.Contains(line, "guard_decisions_total{") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// A finished Job may be deleted, and is not re-created. So a user must not finish a Job by its status, and a running
// one is not deletable because it will finish.
func TestHostile_ARunningJobIsNotDeleted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.guarded(kit.Shared.Helm3(), "shop", shop+`
---
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec:
  ttlSecondsAfterFinished: 3600
  template: {spec: {restartPolicy: Never, containers: [{name: main, image: "example.com/main:1"}]}}
`)
	f.inForce(kit.ConfigMaps, "settings")
	f.refused(jobs, "once", "its deletion was refused", "delete", "job", "once")
	ended := fmt.Sprintf(`{"status":{"active":null,"ready":null,"conditions":[`+
		`{"type":"FailureTarget","status":"True","lastTransitionTime":%[1]q},`+
		`{"type":"Failed","status":"True","lastTransitionTime":%[1]q}]}}`, time.Now().UTC().Format(time.RFC3339))
	end := []string{"patch", "job", "once", "--subresource=status", "--type=merge", "-p", ended}
	f.refused(jobs, "once", "status.conditions was refused", end...)
	for _, cause := range []string{"FailureTarget", "SuccessCriteriaMet"} { // the Job controller then ends it
		f.refused(jobs, "once", "status.conditions was refused", "patch", "job", "once", "--subresource=status",
			"--type=merge", "-p", fmt.Sprintf(`{"status":{"conditions":[{"type":%q,"status":"True"}]}}`, cause))
	}
	f.refused(jobs, "once", "its deletion was refused", "delete", "job", "once")
	controller := "--as=system:serviceaccount:kube-system:job-controller"
	f.passes(append(end, controller, "--as-group=system:serviceaccounts:kube-system", "--as-group=system:masters")...)
	f.passes("delete", "job", "once")
}

// A deadline that a user adds ends a Job or a Pod, which may be deleted then, and is not re-created.
func TestHostile_NoDeadlineEndsWhatRunsOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const spec = `{restartPolicy: Never, containers: [{name: main, image: "example.com/main:1"}]}`
	f.guarded(kit.Shared.Helm3(), "shop", shop+`
---
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec: {template: {spec: `+spec+`}}
---
apiVersion: v1
kind: Pod
metadata: {name: once}
spec: `+spec)
	f.inForce(kit.ConfigMaps, "settings")
	patch := func(kind, patch string) []string {
		return []string{"patch", kind, "once", "--type=merge", "-p", `{"spec":{` + patch + `}}`}
	}
	f.refused(jobs, "once", "spec.activeDeadlineSeconds was refused", patch("job", `"activeDeadlineSeconds":1`)...)
	f.refused(jobs, "once", "spec.backoffLimit was refused", patch("job", `"backoffLimit":0`)...)
	f.passes(patch("job", `"backoffLimit":7`)...)
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	f.refused(pods, "once", "spec.activeDeadlineSeconds was refused", patch("pod", `"activeDeadlineSeconds":1`)...)
	f.passes("label", "pod", "once", "mine=one")
}

// Any Pod may have a token of the account in whose name the operator writes.
func TestHostile_TheAccountOfTheReleaseIsNoWayPast(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.Bind(f.Apps, "default", "ClusterRole/cluster-admin",
		rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: f.Apps, Name: "default"})
	f.guarded(kit.Shared.Helm3(), "shop", strings.Replace(shop, "kind: ConfigMap", "kind: ConfigMap\nimmutable: true", 1),
		func(hr *v1alpha1.HelmRelease) {
			hr.Spec.ServiceAccountName, hr.Spec.ReplaceImmutable = "default", true
		})
	f.inForce(kit.Deployments, "web")
	account := []string{"--as=system:serviceaccount:" + f.Apps + ":default", "--as-group=system:masters"}
	f.refused(kit.ConfigMaps, "settings", "its deletion was refused",
		append(account, "delete", "configmap", "settings")...)
	f.refused(kit.Deployments, "web", "its deletion was refused", append(account, "delete", "deployment", "web")...)
	f.PatchHelmRelease("shop", fmt.Sprintf(
		`{"spec":{"guardExempt":[{"kind":"ServiceAccount","namespace":%q,"name":"default"}]}}`, f.Apps))
	old := f.Get(kit.ConfigMaps, "settings").GetUID()
	f.Until("the exempt account may", func() (any, bool) {
		out, complaint := f.kubectl(append(account, "delete", "configmap", "settings")...)
		return complaint, strings.Contains(out, "deleted")
	})
	f.WaitNewObject(kit.ConfigMaps, "settings", old)
}

// Controllers of Kubernetes adopt the objects that match their selectors: neither the guard nor the operator objects.
func TestI13_ControllersAdopt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	f.guarded(kit.Shared.Helm3(), "shop", shop+`
---
apiVersion: v1
kind: Pod
metadata: {name: single, labels: {app: single}}
spec: {containers: [{name: main, image: "example.com/main:1"}]}
`)
	f.inForce(kit.ConfigMaps, "settings")
	owners := func() []metav1.OwnerReference { return f.Get(pods, "single").GetOwnerReferences() }
	adopt := func(uid types.UID) string {
		return fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"adopter",`+
			`"controller":true,"uid":%q}]}}`, uid)
	}
	f.refused(pods, "single", "metadata.ownerReferences[0] was refused", "patch", "pod", "single", "--type=merge", "-p",
		adopt("00000000-0000-0000-0000-000000000000"))
	f.Create(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}, f.Apps, `
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: adopter}
spec:
  replicas: 1
  selector: {matchLabels: {app: single}}
  template: {metadata: {labels: {app: single}}, spec: {containers: [{name: main, image: "example.com/main:1"}]}}
`)
	f.Until("the Pod is adopted", func() (any, bool) { return owners(), len(owners()) == 1 })
	before := f.Get(pods, "single")
	f.PatchHelmRelease("shop", `{"spec":{"guard":"Off"}}`)
	f.Until("a change passes", func() (any, bool) {
		out, complaint := f.kubectl("label", "pod", "single", "--overwrite", "app.kubernetes.io/managed-by=me")
		return complaint, strings.Contains(out, "labeled")
	})
	f.Until("it is reverted", func() (any, bool) {
		u := f.Get(pods, "single")
		return u.GetLabels(), u.GetLabels()["app.kubernetes.io/managed-by"] == "Helm"
	})
	if now := f.Get(pods, "single"); now.GetUID() != before.GetUID() || len(owners()) != 1 {
		t.Errorf("the Pod has uid %s, was %s, and the owners %v", now.GetUID(), before.GetUID(), owners())
	}
}
