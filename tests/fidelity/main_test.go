// Package fidelity tests that exactly what was tampered with is put back, for every shape that a field can have,
// every form that the API server gives to what Helm applied, and in odd moments: on a real control plane, with
// releases made by Helm 3 (client-side apply) and Helm 4 (server-side apply).
package fidelity

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

func TestMain(m *testing.M) { kit.Main(m, cluster.Options{ControllerManager: true}) }

// fixture is kit.Fixture with what only these tests need.
type fixture struct{ *kit.Fixture }

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return &fixture{kit.Start(t)}
}

// on returns the fixture for a subtest.
func (w *fixture) on(t *testing.T) *fixture { return &fixture{w.On(t)} }

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
func (w *fixture) writes(resources ...string) []cluster.Request {
	return slices.DeleteFunc(w.Proxy.Writes(), func(r cluster.Request) bool {
		return r.Query.Get("dryRun") != "" || r.Resource() == "helmreleases" || r.Resource() == "events" ||
			strings.Contains(r.Path, "/namespaces/"+w.Operator+"/") ||
			strings.HasSuffix(r.Path, "/customresourcedefinitions/helmreleases.helm.cattle.io") ||
			len(resources) > 0 && !slices.Contains(resources, r.Resource())
	})
}

// landed returns those of writes that the API server took.
func (w *fixture) landed(resources ...string) []cluster.Request {
	return slices.DeleteFunc(w.writes(resources...),
		func(r cluster.Request) bool { return r.Code >= http.StatusBadRequest })
}

// expectNoWrites fails the test when the operator wrote to objects of releases since the last Reset.
func (w *fixture) expectNoWrites(when string) {
	w.Helper()
	for _, r := range w.writes() {
		w.Errorf("unexpected write %s: %s %s", when, r, r.Body)
	}
}

// relock has every object of a release judged anew, as at its first lock: the lock is suspended and resumed.
func (w *fixture) relock(name string) {
	w.Helper()
	w.PatchHelmRelease(name, `{"spec":{"suspend":true}}`)
	w.WaitReason(name, v1alpha1.ConditionLocked, v1alpha1.ReasonSuspended)
	w.PatchHelmRelease(name, `{"spec":{"suspend":false}}`)
	w.WaitReason(name, v1alpha1.ConditionLocked, v1alpha1.ReasonLocked)
	w.WaitReady(name, 0)
}
