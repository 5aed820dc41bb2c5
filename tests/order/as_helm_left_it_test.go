package order

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// A controller writes between the write of the content and that of its ownership, as the Deployment controller does.
func TestI4_AControllerWritesBeforeTheHandOver(t *testing.T) {
	b := newFixture(t)
	chart := b.Chart("app", everyField)
	b.Helm(kit.Shared.Helm4(), "install", "app", chart, "--set", valuesBefore)
	b.Lock("app")
	for name, tamper := range map[string]func(*fixture){
		"renamed": func(b *fixture) {
			b.Patch(kit.Services, "app", `[{"op":"replace","path":"/spec/ports/0/port","value":81}]`)
		},
		"deleted": func(b *fixture) { b.Delete(kit.Services, "app") },
	} {
		t.Run(name, func(t *testing.T) {
			b := b.on(t)
			b.Proxy.Reset()
			handOver := b.Proxy.HoldRequests(func(r *http.Request) bool {
				return isRevert("services", http.MethodPatch)(r) && r.Header.Get("Content-Type") == string(types.JSONPatchType)
			})
			tamper(b)
			b.WaitHeld(handOver, 1)
			b.Patch(kit.Services, "app", `{"metadata":{"annotations":{"controller/revision":"`+
				name+`"}}}`)
			handOver.Release()
			b.Eventually("Helm alone owns what it declares", func() error {
				for _, entry := range b.Get(kit.Services, "app").GetManagedFields() {
					owner := entry.Manager + " " + string(entry.Operation)
					if owner != "helm Apply" && owner != kit.Tamperer+" Update" {
						return fmt.Errorf("%s owns %s", owner, entry.FieldsV1.GetRawString())
					}
				}
				return nil
			})
		})
	}
	b.Helm(kit.Shared.Helm4(), "upgrade", "app", chart, "--set", valuesAfter)
	b.WaitReady("app", 2)
	b.wantAfter()
}

func TestI4_AsHelm3LeftIt(t *testing.T) {
	asHelmLeftIt(t, func(b *fixture, chart string) cluster.Helm {
		b.Helm(kit.Shared.Helm3(), "install", "app", chart, "--set", valuesBefore)
		return kit.Shared.Helm3()
	}, metav1.ManagedFieldsOperationUpdate)
}

func TestI4_AsHelm4LeftIt(t *testing.T) {
	asHelmLeftIt(t, func(b *fixture, chart string) cluster.Helm {
		b.Helm(kit.Shared.Helm4(), "install", "app", chart, "--set", valuesBefore)
		return kit.Shared.Helm4()
	}, metav1.ManagedFieldsOperationApply)
}

// Helm 4 continues with client-side apply for a release of Helm 3.
func TestI4_AsHelm4LeftWhatHelm3Installed(t *testing.T) {
	asHelmLeftIt(t, func(b *fixture, chart string) cluster.Helm {
		b.Helm(kit.Shared.Helm3(), "install", "app", chart, "--set", valuesAfter)
		b.Helm(kit.Shared.Helm4(), "upgrade", "app", chart, "--set", valuesBefore)
		return kit.Shared.Helm4()
	}, metav1.ManagedFieldsOperationUpdate)
}

// Helm 4 converts the release to server-side apply on request.
func TestI4_AsHelm4LeftWhatItTookOverFromHelm3(t *testing.T) {
	asHelmLeftIt(t, func(b *fixture, chart string) cluster.Helm {
		b.Helm(kit.Shared.Helm3(), "install", "app", chart, "--set", valuesAfter)
		b.Helm(kit.Shared.Helm4(), "upgrade", "app", chart, "--set", valuesBefore, "--server-side=true")
		return kit.Shared.Helm4()
	}, metav1.ManagedFieldsOperationApply)
}

// asHelmLeftIt calls prepare for a release with valuesBefore in the end, tampers with it in every way and checks that
// content and field ownership are restored, and that the Helm returned by prepare can then change all of it.
func asHelmLeftIt(
	t *testing.T, prepare func(*fixture, string) cluster.Helm, operation metav1.ManagedFieldsOperationType,
) {
	b := newFixture(t)
	chart := b.Chart("app", everyField)
	h := prepare(b, chart)
	before := map[schema.GroupVersionResource]map[string]any{}
	for _, gvr := range []schema.GroupVersionResource{kit.Deployments, kit.Services, kit.ConfigMaps} {
		live := b.Get(gvr, "app")
		before[gvr] = asLeft(b, live)
		for _, entry := range live.GetManagedFields() {
			check.Must(t, entry.Manager == "helm" && entry.Operation == operation,
				"%s: Helm left the manager %s %s, want helm %s alone", gvr.Resource, entry.Manager, entry.Operation, operation)
		}
	}
	revision := b.Lock("app").Status.Revision
	for _, tampering := range tamperings() {
		t.Run(tampering.name, func(t *testing.T) {
			c := b.on(t)
			tampering.do(c)
			c.Eventually("the object is as Helm left it", func() error {
				live := c.Get(tampering.resource, "app")
				if live == nil {
					return fmt.Errorf("it does not exist")
				}
				return kit.Difference(before[tampering.resource], asLeft(c, live), "", nil)
			})
			c.WaitReady("app", revision)
		})
	}
	b.Helm(h, "upgrade", "app", chart, "--set", valuesAfter)
	b.WaitReady("app", revision+1)
	b.wantAfter()
}

// on returns the fixture for a subtest.
func (b *fixture) on(t *testing.T) *fixture { return &fixture{b.On(t)} }

// wantAfter checks that every object has valuesAfter.
func (b *fixture) wantAfter() {
	b.Helper()
	for gvr, want := range map[schema.GroupVersionResource][]string{
		kit.ConfigMaps: {`"value":"second"`, `"note":"blue"`},
		kit.Services:   {`"port":90`, `"targetPort":90`},
		kit.Deployments: {`"team":"blue"`, `"replicas":3`, `"image":"example.com/main:two"`, `"containerPort":90`,
			`"name":"KIND"`},
	} {
		content := asLeft(b, b.Get(gvr, "app"))
		delete(content, "managedFields")
		text, err := json.Marshal(content)
		check.NoError(b, err)
		for _, part := range want {
			if !strings.Contains(string(text), part) {
				b.Errorf("%s after the upgrade: no %s in %s", gvr.Resource, part, text)
			}
		}
	}
}

// asLeft returns the parts of an object that a revert restores: its content, and field ownership by manager and
// operation. It omits times and the fields set by the API server on every new object.
func asLeft(b *fixture, live *unstructured.Unstructured) map[string]any {
	b.Helper()
	owned := map[string]any{}
	for _, entry := range live.GetManagedFields() {
		var fields map[string]any
		check.NoError(b, json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields))
		owned[fmt.Sprintf("%s %s %s", entry.Manager, entry.Operation, entry.Subresource)] = fields
	}
	content := live.DeepCopy().Object
	for _, path := range [][]string{
		{"status"}, {"metadata", "managedFields"}, {"metadata", "resourceVersion"}, {"metadata", "generation"},
		{"metadata", "uid"},
		{"metadata", "creationTimestamp"}, {"spec", "clusterIP"}, {"spec", "clusterIPs"},
	} {
		unstructured.RemoveNestedField(content, path...)
	}
	content["managedFields"] = owned
	return content
}
