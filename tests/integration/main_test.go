package integration

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// shared is the control plane of this package; nil with -short.
var shared *cluster.Cluster

func TestMain(m *testing.M) {
	os.Exit(cluster.Main(m, cluster.Options{ControllerManager: true}, func(c *cluster.Cluster) { shared = c }))
}

// world is what most tests need: an environment and an operator that reaches the API server through a proxy.
type world struct {
	*kit.Env
	proxy    *cluster.Proxy
	operator *kit.Operator
	fenced   kit.Fence
	edits    int // by staysUnlocked
}

func newWorld(t *testing.T, options ...func(*operator.ControllerOptions)) *world {
	t.Helper()
	e := kit.New(t, shared)
	proxy := e.Proxy()
	return &world{Env: e, proxy: proxy, operator: kit.StartOperator(t, proxy.RESTConfig(), e.Operator, options...)}
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

// expectKey fails the test when the key of a ConfigMap is not the wanted one now.
func (w *world) expectKey(name, want string) {
	w.Helper()
	if got := kit.Field(w.Get(kit.ConfigMaps, name), "data.key"); got != want {
		w.Errorf("ConfigMap %s: key is %v, want %s", name, got, want)
	}
}

// expectNoWrites fails the test when the operator wrote to objects of releases since the last Reset, the fence
// excepted.
func (w *world) expectNoWrites() {
	w.Helper()
	for _, r := range kit.ObjectWrites(w.proxy) {
		if !strings.HasSuffix(r.Path, "/configmaps/fence") {
			w.Errorf("unexpected write: %s %s", r, r.Body)
		}
	}
}

// revertsEdits tampers with the key of a ConfigMap and waits until it is restored.
func (w *world) revertsEdits(name, want string) {
	w.Helper()
	w.Patch(kit.ConfigMaps, name, `{"data":{"key":"tampered"}}`)
	w.WaitField(kit.ConfigMaps, name, "data.key", want)
}

// says waits until a condition has a reason, and fails the test unless its message has all the wanted parts.
func (w *world) says(name, condition, reason string, parts ...string) {
	w.Helper()
	c := w.WaitReason(name, condition, reason)
	w.Logf("%s is %s/%s: %s", condition, c.Status, c.Reason, c.Message)
	for _, part := range parts {
		if !strings.Contains(c.Message, part) {
			w.Errorf("message of %s does not say %q: %s", condition, part, c.Message)
		}
	}
}

func (w *world) expectState(name string, want v1alpha1.State) {
	w.Helper()
	w.Eventually(fmt.Sprintf("state of HelmRelease %s is %s", name, want), func() error {
		if got := w.HelmRelease(name).Status.State; got != want {
			return fmt.Errorf("it is %s", got)
		}
		return nil
	})
}

// watching matches the watch streams of a resource.
func watching(plural string) cluster.Match {
	return func(r *http.Request) bool { return cluster.IsWatch(r) && cluster.ForResource(plural)(r) }
}

// helms are the Helm versions that a test runs with.
func helms() map[string]cluster.Helm { return kit.Helms(shared) }

// notFound returns nil for the API server's "not found" and an error for anything else.
func notFound(err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err == nil:
		return errors.New("it still exists")
	}
	return err
}

func (w *world) deleteIn(gvr schema.GroupVersionResource, namespace, name string) {
	w.Helper()
	check.NoError(w, w.In(gvr, namespace).Delete(w.Ctx, name, metav1.DeleteOptions{}))
}
