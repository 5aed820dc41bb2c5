package integration

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

var scopes = kit.ConfigMap("settings", "declared") + `---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{name: http, port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "example.com/web:1", env: [{name: A, value: declared}], ports: [{containerPort: 80}]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
`

// addition is an undeclared addition to an object.
type addition struct {
	name   string
	gvr    schema.GroupVersionResource
	object string
	patch  string
	// added occurs in the object's JSON as long as the addition exists.
	added string
}

func additions() []addition {
	pod := func(spec string) string { return `{"spec":{"template":{"spec":` + spec + `}}}` }
	return []addition{
		{"label", kit.ConfigMaps, "settings", `{"metadata":{"labels":{"added":"x"}}}`, `"added"`},
		{"annotation", kit.Services, "web", `{"metadata":{"annotations":{"added":"x"}}}`, `"added"`},
		{"data key", kit.ConfigMaps, "settings", `{"data":{"added":"x"}}`, `"added"`},
		{"finalizer", kit.ConfigMaps, "settings", `{"metadata":{"finalizers":["example.com/added"]}}`, `example.com/added`},
		{"selector", kit.Services, "web", `{"spec":{"selector":{"added":"x"}}}`, `"added"`},
		{"port", kit.Services, "web", `{"spec":{"ports":[{"name":"added","port":81}]}}`, `"added"`},
		{"env", kit.Deployments, "web", pod(`{"containers":[{"name":"web","env":[{"name":"ADDED","value":"x"}]}]}`),
			`"ADDED"`},
		{"container", kit.Deployments, "web", pod(`{"containers":[{"name":"added","image":"example.com/added:1"}]}`),
			`"added"`},
		{"volume", kit.Deployments, "web", pod(`{"volumes":[{"name":"added","emptyDir":{}}]}`), `"added"`},
		{"toleration", kit.Deployments, "web", pod(`{"tolerations":[{"key":"added","operator":"Exists"}]}`), `"added"`},
		{"template annotation", kit.Deployments, "web",
			`{"spec":{"template":{"metadata":{"annotations":{"added":"x"}}}}}`, `"added"`},
		{"scalar with a default", kit.Deployments, "web", `{"spec":{"revisionHistoryLimit":3}}`, `"revisionHistoryLimit":3`},
	}
}

func (w *fixture) add(a addition) {
	w.Helper()
	w.Strategic(a.gvr, a.object, a.patch)
}

// text returns an object as JSON, without its managedFields.
func (w *fixture) text(gvr schema.GroupVersionResource, name string) string {
	w.Helper()
	u := w.Get(gvr, name)
	if u == nil {
		return ""
	}
	u.SetManagedFields(nil)
	return w.asJSON(u.Object)
}

// Undeclared additions of others stay in scope Declared and are removed in scope Strict.
func TestScope_Additions(t *testing.T) {
	t.Parallel()
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		chart := w.Installed(helm, "app", scopes)
		w.Proxy.Reset()
		for _, a := range additions() {
			w.add(a)
		}
		w.PassFence()
		w.ExpectNoWrites()
		for _, a := range additions() {
			check.That(t, strings.Contains(w.text(a.gvr, a.object), a.added), "%s: scope Declared removed it", a.name)
		}

		w.PatchHelmRelease("app", `{"spec":{"scope":"Strict"}}`)
		gone := func() {
			for _, a := range additions() {
				w.Until(a.name+" is removed", func() (any, bool) {
					text := w.text(a.gvr, a.object)
					return text, !strings.Contains(text, a.added)
				})
			}
		}
		gone()
		w.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonLocked)
		for _, a := range additions() {
			w.add(a)
		}
		gone()
		// Nothing is written any more once all is as Helm left it, and Helm finds its objects as it left them.
		w.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonLocked)
		w.PassFence()
		w.Proxy.Reset()
		w.PassFence()
		w.ExpectNoWrites()
		w.Helm(helm, "upgrade", "app", chart)
		w.WaitReady("app", 2)
		for _, r := range w.HelmRelease("app").Status.RecentDrift {
			if r.Operation == v1alpha1.DriftAdded && r.FieldManager != kit.Tamperer {
				t.Errorf("an addition is put down to %q: %+v", r.FieldManager, r)
			}
		}
	})
}

// An addition to an atomic map during a revert does not become Helm's by that revert.
func TestScope_StrictRemovesWhatIsAddedDuringARevert(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Installed(kit.Shared.Helm4(), "app", scopes,
		func(hr *v1alpha1.HelmRelease) { hr.Spec.Scope = v1alpha1.ScopeStrict })
	hold := w.Proxy.HoldRequests(func(r *http.Request) bool { // the content is reverted, the ownership is not
		return r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, w.Apps+"/services/web") &&
			r.Header.Get("Content-Type") == string(types.ApplyPatchType)
	})
	defer hold.Release()
	for _, a := range additions() {
		switch a.name {
		case "annotation":
			// A declared field is restored, too: a revert that only removes fields owns none. It is not the selector,
			// which would have another owner by that.
			a.patch = `{"metadata":{"annotations":{"added":"x"}},"spec":{"ports":[{"name":"evil","port":80}]}}`
			w.add(a)
			check.NoError(t, hold.Wait(t.Context(), 1))
		case "selector":
			w.add(a)
		}
	}
	hold.Release()
	w.Until("both additions are removed", func() (any, bool) {
		text := w.text(kit.Services, "web")
		return text, !strings.Contains(text, `"added"`)
	})
}

// Scope Strict spares fields of Kubernetes' own controllers, fields on the allow-list, and Kubernetes' own
// finalizers.
func TestScope_StrictSparesControllersAndTheAllowList(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Helm(kit.Shared.Helm4(), "install", "app", w.Chart("app", scopes))
	w.Lock("app", func(hr *v1alpha1.HelmRelease) {
		hr.Spec.Scope = v1alpha1.ScopeStrict
		hr.Spec.Ignore = []v1alpha1.IgnoreRule{{Managers: []string{"allowed-*"}}}
	})
	w.Until("the Deployment's controller has written its revision", func() (any, bool) {
		return "it has not", w.Get(kit.Deployments, "web").GetAnnotations()["deployment.kubernetes.io/revision"] != ""
	})
	w.Proxy.Reset()
	w.PatchAs("allowed-one", kit.ConfigMaps, "settings", `{"metadata":{"annotations":{"allowed":"x"}},"data":{"allowed":"x"}}`)
	w.PatchAs("kube-controller-manager", kit.ConfigMaps, "settings", `{"metadata":{"annotations":{"controller":"x"}}}`)
	w.PatchAs("somebody", kit.ConfigMaps, "settings", `{"metadata":{"finalizers":["kubernetes.io/protection"]}}`)
	w.PassFence()
	w.ExpectNoWrites()
	w.PatchAs("somebody", kit.ConfigMaps, "settings", `{"metadata":{"annotations":{"foreign":"x"}},"data":{"key":"tampered"}}`)
	w.WaitField(kit.ConfigMaps, "settings", "data.key", "declared")
	u := w.Get(kit.ConfigMaps, "settings")
	annotations := u.GetAnnotations()
	check.That(t,
		annotations["foreign"] == "" && annotations["allowed"] != "" && annotations["controller"] != "" &&
			len(u.GetFinalizers()) == 1 && kit.Field(u, "data.allowed") == "x", "left: %v %v %v", annotations, u.GetFinalizers(),
		u.Object["data"])
	w.PatchAs("somebody", kit.ConfigMaps, "settings", `{"metadata":{"finalizers":[]}}`)
}

// Objects whose fields were written before the API server tracked owners keep them.
func TestScope_StrictWithoutManagedFields(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.Helm(kit.Shared.Helm3(), "install", "app", w.Chart("app", scopes))
	w.add(additions()[2])
	w.Patch(kit.ConfigMaps, "settings", `{"metadata":{"managedFields":[{}]}}`) // what clears them
	w.Lock("app", func(hr *v1alpha1.HelmRelease) { hr.Spec.Scope = v1alpha1.ScopeStrict })
	w.Reverts("settings", "declared")
	check.That(t, kit.Field(w.Get(kit.ConfigMaps, "settings"), "data.added") == "x",
		"a field of unknown origin was removed")
}

const listMap = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lists.%[1]s.example.com}
spec:
  group: %[1]s.example.com
  names: {kind: Lists, plural: lists}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              listeners:
                type: array
                %[2]s
                items: {type: object, required: [name], properties: {name: {type: string}, port: {type: integer}}}
`

// The definition of a custom resource determines whether a difference in a list is an addition or a change, also
// after the definition changes.
func TestScope_ListsOfCustomResources(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	lists := schema.GroupVersionResource{Group: w.Apps + ".example.com", Version: "v1", Resource: "lists"}
	define := func(kind string) {
		t.Helper()
		var content map[string]any
		w.fromYAML(fmt.Sprintf(listMap, w.Apps, kind), &content)
		_, err := w.In(kit.Definitions, "").Apply(w.Ctx, "lists."+lists.Group, &unstructured.Unstructured{Object: content},
			metav1.ApplyOptions{FieldManager: "test", Force: true})
		check.NoError(t, err)
	}
	define("x-kubernetes-list-type: map\n                x-kubernetes-list-map-keys: [name]")
	w.Eventually("the kind is served", func() error {
		_, err := w.In(lists, w.Apps).List(w.Ctx, metav1.ListOptions{})
		return err
	})
	w.Installed(kit.Shared.Helm4(), "app", "apiVersion: "+lists.Group+`/v1
kind: Lists
metadata: {name: gateway}
spec: {listeners: [{name: http, port: 80}]}`)
	gateway := func(want string) {
		t.Helper()
		w.Until("the listeners are "+want, func() (any, bool) {
			got := w.asJSON(kit.Field(w.Get(lists, "gateway"), "spec.listeners"))
			return got, got == want
		})
	}
	w.Proxy.Reset()
	w.Patch(lists, "gateway", `{"spec":{"listeners":[{"name":"http","port":80},{"name":"added","port":81}]}}`)
	w.PassFence()
	w.ExpectNoWrites()
	w.Patch(lists, "gateway", `{"spec":{"listeners":[{"name":"edited","port":80},{"name":"added","port":81}]}}`)
	gateway(`[{"name":"http","port":80},{"name":"added","port":81}]`)

	define("x-kubernetes-list-type: atomic")
	gateway(`[{"name":"http","port":80}]`)
}
