package fidelity

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

const moments = `
apiVersion: v1
kind: ConfigMap
metadata: {name: plain, annotations: {note: "{{ .Values.note }}"}}
data: {key: declared}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: sealed, annotations: {note: "{{ .Values.note }}"}}
immutable: true
data: {key: declared}
---
apiVersion: v1
kind: Secret
metadata: {name: typed, annotations: {note: "{{ .Values.note }}"}}
type: example.com/declared
data: {password: c3dvcmRmaXNo}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {note: "{{ .Values.note }}"}}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "example.com/main:1"}]}
`

// locked installs moments by a Helm and locks it, and a fence.
func (w *fixture) locked(h cluster.Helm) (chart string) {
	w.Helper()
	w.LockFence()
	return w.installed(h, moments, "note=first")
}

// ownedByHelm returns an error unless an object has Helm's ownership metadata.
func (w *fixture) ownedByHelm(u *unstructured.Unstructured) error {
	got := fmt.Sprint(u.GetLabels()["app.kubernetes.io/managed-by"], u.GetAnnotations()["meta.helm.sh/release-name"],
		u.GetAnnotations()["meta.helm.sh/release-namespace"])
	if want := fmt.Sprint("Helm", "app", w.Apps); got != want {
		return fmt.Errorf("its ownership metadata is %q, want %q", got, want)
	}
	return nil
}

// A tamperer deletes an object and creates another one in its place before the operator re-creates it.
func TestMoments_AnotherObjectOfTheNameInItsPlace(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		chart := w.locked(helm)
		creations := w.Proxy.HoldRequests(cluster.ForResource("configmaps", http.MethodPost))
		w.Delete(kit.ConfigMaps, "plain")
		check.NoError(t, creations.Wait(w.Ctx, 1))
		made := w.Create(kit.ConfigMaps, w.Apps,
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: plain}, data: {key: evil, other: x}}")
		creations.Release()
		w.Eventually("content and ownership are back", func() error {
			u := w.Get(kit.ConfigMaps, "plain")
			if u == nil || kit.Field(u, "data.key") != "declared" {
				return fmt.Errorf("it is %v", u)
			}
			return w.ownedByHelm(u)
		})
		u := w.Get(kit.ConfigMaps, "plain")
		check.That(t, u.GetUID() == made.GetUID() && kit.Field(u, "data.other") == "x",
			"it is not the tamperer's object, put right: %v", u.Object)
		w.WaitReady("app", 1)
		w.upgraded(helm, chart, "note=second")
	})
}

// An object of a release in a terminating namespace is re-created with the namespace.
func TestMoments_TerminatingNamespace(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	other := w.Namespace("other-" + w.Apps)
	w.Installed(kit.Shared.Helm4(), "app", kit.ConfigMap("here", "declared")+
		strings.ReplaceAll(kit.ConfigMap("there", "declared"), "name: there", "name: there, namespace: "+other))
	w.Create(kit.ConfigMaps, other,
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: held, finalizers: [example.com/held]}}")
	namespaces := w.Kube.CoreV1().Namespaces()
	check.NoError(t, namespaces.Delete(w.Ctx, other, metav1.DeleteOptions{}))
	c := w.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonBeingDeleted)
	check.That(t, strings.Contains(c.Message, other+"/there"), "Ready says %s", c.Message)
	w.Patch(kit.ConfigMaps, "here", `{"data":{"key":"evil"}}`)
	w.WaitField(kit.ConfigMaps, "here", "data.key", "declared")
	w.PatchIn(kit.ConfigMaps, other, "held", `{"metadata":{"finalizers":null}}`)
	// The namespace controller tries again later and later, behind the namespaces of other tests. Its last request ends
	// the namespace at once.
	w.Eventually("the namespace is gone", func() error {
		last, err := namespaces.Get(w.Ctx, other, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		check.NoError(t, err)
		last.Spec.Finalizers = nil
		_, err = namespaces.Finalize(w.Ctx, last, metav1.UpdateOptions{})
		return errors.Join(errors.New("it was there"), err)
	})
	_, err := namespaces.Create(w.Ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: other}},
		metav1.CreateOptions{})
	check.NoError(t, err)
	w.WaitFieldIn(kit.ConfigMaps, other, "there", "data.key", "declared")
	w.WaitReady("app", 1)
}

// Another user's finalizer holds a deleted object: the operator waits for it, and reverts edits of it meanwhile.
func TestMoments_ForeignFinalizer(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		chart := w.locked(helm)
		old := w.Patch(kit.Deployments, "web", `{"metadata":{"finalizers":["example.com/held"]}}`)
		w.Delete(kit.Deployments, "web")
		w.WaitReason("app", v1alpha1.ConditionReady, v1alpha1.ReasonBeingDeleted)
		w.Patch(kit.Deployments, "web", `{"spec":{"replicas":1}}`)
		w.Patch(kit.ConfigMaps, "plain", `{"data":{"key":"evil"}}`)
		w.WaitField(kit.ConfigMaps, "plain", "data.key", "declared")
		w.Patch(kit.Deployments, "web", `{"metadata":{"finalizers":null}}`)
		u := w.WaitNewObject(kit.Deployments, "web", old.GetUID())
		n := kit.Field(u, "spec.replicas")
		check.That(t, n == int64(0) && len(u.GetFinalizers()) == 0, "it has %v replicas and the finalizers %v", n,
			u.GetFinalizers())
		w.WaitReady("app", 1)
		w.upgraded(helm, chart, "note=second")
	})
}

// No manifest declares a status; a scale is an edit like any other.
func TestMoments_Subresources(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		chart := w.locked(helm)
		web := w.on(t).target(&shape{object: "deployments/web"})
		before := web.asLeft(web.live())
		w.Proxy.Reset()
		w.PatchAs(kit.Tamperer, kit.Deployments, "web", `{"status":{"conditions":[{"type":"Evil","status":"True"}]}}`, "status")
		w.PatchAs(kit.Tamperer, kit.Deployments, "web", `{"spec":{"replicas":1}}`, "scale")
		web.comes(before)
		n := len(w.to("web"))
		check.That(t, n == 1, "%d writes for one scale and one status", n)
		w.upgraded(helm, chart, "note=second")
	})
}

// A user applies the declared values under another field manager. Beside Helm's manager with server-side apply that is
// drift, because Helm's next upgrade would be refused over each of them. It is reverted once.
func TestMoments_DeclaredValuesOwnedByAnother(t *testing.T) {
	kit.EachHelm(t, func(t *testing.T, helm cluster.Helm) {
		w := newFixture(t)
		chart := w.locked(helm)
		w.Proxy.Reset()
		plain := w.target(&shape{object: "configmaps/plain"})
		plain.tamper(types.ApplyPatchType,
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain, annotations: {note: first}}\ndata: {key: declared}\n", kit.Tamperer)
		w.PassFence()
		n, server := len(w.to("plain")), helm.Name == "helm 4"
		check.That(t, n > 0 == server && n <= 2, "%d writes", n)
		w.PassFence()
		w.upgraded(helm, chart, "note=second")
	})
}
