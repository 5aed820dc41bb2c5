// Package fidelity tests that exactly what was tampered with is put back, for every shape that a field can have,
// every form that the API server gives to what Helm applied, and in odd moments: on a real control plane, with
// releases made by Helm 3 (client-side apply) and Helm 4 (server-side apply).
package fidelity

import (
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// shared is the control plane of this package; nil with -short.
var shared *cluster.Cluster

func TestMain(m *testing.M) {
	os.Exit(cluster.Main(m, cluster.Options{ControllerManager: true}, func(c *cluster.Cluster) { shared = c }))
}

// world is an environment with an operator that reaches the API server through a proxy.
type world struct {
	*kit.Env
	proxy  *cluster.Proxy
	fenced kit.Fence
}

func newWorld(t *testing.T) *world {
	t.Helper()
	e := kit.New(t, shared)
	proxy := e.Proxy()
	kit.StartOperator(t, proxy.RESTConfig(), e.Operator)
	return &world{Env: e, proxy: proxy}
}

// on returns the world for a subtest.
func (w *world) on(t *testing.T) *world { return &world{Env: w.For(t), proxy: w.proxy} }

// helms are the Helm versions that a test runs with.
func helms() map[string]cluster.Helm { return kit.Helms(shared) }

const autoscaling, networking, rbac, admission = "autoscaling", "networking.k8s.io", "rbac.authorization.k8s.io",
	"admissionregistration.k8s.io"

// resource returns what the plural of a kind stands for in these tests.
func resource(plural string) schema.GroupVersionResource {
	group := map[string]string{
		"deployments": "apps", "statefulsets": "apps", "jobs": "batch", "cronjobs": "batch",
		"horizontalpodautoscalers": autoscaling, "ingresses": networking, "networkpolicies": networking,
		"poddisruptionbudgets": "policy", "leases": "coordination.k8s.io", "roles": rbac, "rolebindings": rbac,
		"mutatingwebhookconfigurations": admission, "customresourcedefinitions": "apiextensions.k8s.io",
	}[plural]
	version := "v1"
	if plural == "horizontalpodautoscalers" {
		version = "v2"
	}
	return schema.GroupVersionResource{Group: group, Version: version, Resource: plural}
}

// writes returns the requests of the operator that were to change objects of releases, those to one resource only
// if it is given: content and field ownership, whatever came of them, but no dry runs.
func (w *world) writes(resources ...string) []cluster.Request {
	return slices.DeleteFunc(w.proxy.Writes(), func(r cluster.Request) bool {
		return r.Query.Get("dryRun") != "" || r.Resource() == "helmreleases" || r.Resource() == "events" ||
			strings.Contains(r.Path, "/namespaces/"+w.Operator+"/") ||
			strings.HasSuffix(r.Path, "/customresourcedefinitions/helmreleases.helm.cattle.io") ||
			len(resources) > 0 && !slices.Contains(resources, r.Resource())
	})
}

// landed returns those of writes that the API server took.
func (w *world) landed(resources ...string) []cluster.Request {
	return slices.DeleteFunc(w.writes(resources...),
		func(r cluster.Request) bool { return r.Code >= http.StatusBadRequest })
}

// expectNoWrites fails the test when the operator wrote to objects of releases since the last Reset.
func (w *world) expectNoWrites(when string) {
	w.Helper()
	for _, r := range w.writes() {
		w.Errorf("unexpected write %s: %s %s", when, r, r.Body)
	}
}

// relock has every object of a release judged anew, as at its first lock: the lock is suspended and resumed.
func (w *world) relock(name string) {
	w.Helper()
	w.PatchHelmRelease(name, `{"spec":{"suspend":true}}`)
	w.WaitReason(name, v1alpha1.ConditionLocked, v1alpha1.ReasonSuspended)
	w.PatchHelmRelease(name, `{"spec":{"suspend":false}}`)
	w.WaitReason(name, v1alpha1.ConditionLocked, v1alpha1.ReasonLocked)
	w.WaitReady(name, 0)
}

// configMap is kit.ConfigMap, which most tests need.
func configMap(name, value string) string { return kit.ConfigMap(name, value) }

// lockFence locks a release of one ConfigMap for fence to use.
func (w *world) lockFence() {
	w.Helper()
	w.fenced.Lock(w.Env)
}

// fence returns when the operator has acted on all changes of ConfigMaps that were made before the call.
func (w *world) fence() {
	w.Helper()
	w.fenced.Pass(w.Env)
}
