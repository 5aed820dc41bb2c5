// Package fidelity tests that reverts restore exactly the changed fields, for every shape of a field, every canonical
// form of the API server, and in unusual moments: on a real control plane, with releases made by Helm 3 (client-side
// apply) and Helm 4 (server-side apply).
package fidelity

import (
	"fmt"
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

// expectNoWrites fails the test when the operator wrote to objects of releases since the last Reset, optionally of one
// resource only.
func (w *fixture) expectNoWrites(when string, resources ...string) {
	w.Helper()
	for _, r := range w.writes(resources...) {
		w.Errorf("unexpected write %s: %s %s", when, r, r.Body)
	}
}

// installed installs a template with values as release app, and locks it.
func (w *fixture) installed(
	helm cluster.Helm, template, values string, change ...func(*v1alpha1.HelmRelease),
) (chart string) {
	w.Helper()
	chart = w.Chart("app", template)
	w.Helm(helm, "install", "app", chart, "--set", values)
	w.Lock("app", change...)
	return chart
}

// upgraded upgrades release app to revision 2 with other values, and waits until that is locked.
func (w *fixture) upgraded(helm cluster.Helm, chart, values string) {
	w.Helper()
	w.Helm(helm, "upgrade", "app", chart, "--set", values)
	w.WaitReady("app", 2)
}

// relock suspends and resumes the lock of release app: every object is judged again, as at its first lock.
func (w *fixture) relock() {
	w.Helper()
	w.whileSuspended(func() {})
	w.WaitReason("app", v1alpha1.ConditionLocked, v1alpha1.ReasonLocked)
	w.WaitReady("app", 0)
}

// sharedBy returns an error if a manager owns fields of an object.
func sharedBy(u *unstructured.Unstructured, manager string) error {
	for _, e := range u.GetManagedFields() {
		if e.Manager == manager {
			return fmt.Errorf("%s owns %s", e.Manager, e.FieldsV1.GetRawBytes())
		}
	}
	return nil
}

// containersOf returns the containers in the Pod template of an object.
func containersOf(object map[string]any) (all []map[string]any) {
	list, _ := kit.Field(asObject(object), "spec.template.spec.containers").([]any)
	for _, item := range list {
		container, _ := item.(map[string]any)
		all = append(all, container)
	}
	return all
}

// named returns the index of the element with a name; -1 for none.
func named(list []map[string]any, name string) int {
	return slices.IndexFunc(list, func(e map[string]any) bool { return e["name"] == name })
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

// to returns the operator's accepted writes to the object of a name, optionally of one resource only.
func (w *fixture) to(name string, resources ...string) []cluster.Request {
	return slices.DeleteFunc(w.landed(resources...),
		func(r cluster.Request) bool { return !strings.HasSuffix(r.Path, "/"+name) })
}
