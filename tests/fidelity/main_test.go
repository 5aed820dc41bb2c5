// Package fidelity tests that reverts restore exactly the changed fields, for every shape of a field, every canonical
// form of the API server, and in unusual moments: on a real control plane, with releases made by Helm 3 (client-side
// apply) and Helm 4 (server-side apply).
package fidelity

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

func TestMain(m *testing.M) { kit.Main(m, cluster.Options{ControllerManager: true}) }

// fixture is kit.Fixture with additions for this suite.
type fixture struct{ *kit.Fixture }

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return &fixture{kit.Start(t)}
}

// on returns the fixture for a subtest.
func (w *fixture) on(t *testing.T) *fixture { return &fixture{w.On(t)} }

const autoscaling, networking, rbac, admission = "autoscaling", "networking.k8s.io", "rbac.authorization.k8s.io",
	"admissionregistration.k8s.io"

// resource returns the resource of a plural in these tests.
func resource(plural string) schema.GroupVersionResource {
	group := map[string]string{
		"deployments": "apps", "statefulsets": "apps", "jobs": "batch", "cronjobs": "batch",
		"horizontalpodautoscalers": autoscaling, "ingresses": networking, "networkpolicies": networking,
		"poddisruptionbudgets": "policy", "leases": "coordination.k8s.io", "roles": rbac, "rolebindings": rbac, "clusterroles": rbac,
		"mutatingwebhookconfigurations": admission, "customresourcedefinitions": "apiextensions.k8s.io",
	}[plural]
	version := "v1"
	if plural == "horizontalpodautoscalers" {
		version = "v2"
	}
	return schema.GroupVersionResource{Group: group, Version: version, Resource: plural}
}

// writes returns the operator's writes to objects of releases, optionally to one resource only: content and field
// ownership, successful or not, without dry runs.
func (w *fixture) writes(resources ...string) []cluster.Request {
	return slices.DeleteFunc(w.Proxy.Writes(), func(r cluster.Request) bool {
		return r.Query.Get("dryRun") != "" || r.Resource() == "helmreleases" || r.Resource() == "events" ||
			strings.Contains(r.Path, "/namespaces/"+w.Operator+"/") ||
			strings.HasSuffix(r.Path, "/customresourcedefinitions/helmreleases.helm.cattle.io") ||
			len(resources) > 0 && !slices.Contains(resources, r.Resource())
	})
}

// landed returns the writes accepted by the API server.
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

// relock suspends and resumes the lock of a release: every object is judged again, as at its first lock.
func (w *fixture) relock(name string) {
	w.Helper()
	w.PatchHelmRelease(name, `{"spec":{"suspend":true}}`)
	w.WaitReason(name, v1alpha1.ConditionLocked, v1alpha1.ReasonSuspended)
	w.PatchHelmRelease(name, `{"spec":{"suspend":false}}`)
	w.WaitReason(name, v1alpha1.ConditionLocked, v1alpha1.ReasonLocked)
	w.WaitReady(name, 0)
}

func asObject(content map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: content}
}

// asEvent returns the object of a watch event; nil when it has none, or a deleted one.
func asEvent(event watch.Event) *unstructured.Unstructured {
	u, ok := event.Object.(*unstructured.Unstructured)
	if !ok || event.Type == watch.Deleted {
		return nil
	}
	return u
}

// to returns the operator's accepted writes to the object of a name.
func (w *fixture) to(name string) []cluster.Request {
	return slices.DeleteFunc(w.landed(), func(r cluster.Request) bool { return !strings.HasSuffix(r.Path, "/"+name) })
}
