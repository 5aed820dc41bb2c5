package integration

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/rancher/helm-locker/pkg/operator"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

const withNamespace = `
apiVersion: v1
kind: Namespace
metadata: {name: %[1]s}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: inside, namespace: %[1]s}
data: {key: declared}
---
apiVersion: v1
kind: Service
metadata: {name: inside, namespace: %[1]s}
spec: {selector: {a: b}, ports: [{port: 80}]}
`

// A namespace of the release is deleted slowly. Each attempt to re-create its objects is refused, and the wait
// increases: here without an end, because the operator's clock stands still. Once the namespace exists again, its
// objects do, too.
func TestI5_ObjectsAreBackWithTheirNamespace(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(o *operator.ControllerOptions) { o.Clock = clocktesting.NewFakeClock(time.Now()) })
	inner := w.Apps + "-inner"
	w.Installed(kit.Shared.Helm3(), "app", fmt.Sprintf(withNamespace, inner))
	_, err := w.Kube.CoreV1().Secrets(inner).Create(w.Ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Name: "holder", Finalizers: []string{"tests.example.com/hold"},
	}}, metav1.CreateOptions{})
	check.NoError(t, err)
	w.Proxy.Reset()
	check.NoError(t, w.Kube.CoreV1().Namespaces().Delete(w.Ctx, inner, metav1.DeleteOptions{}))
	for _, resource := range []string{"configmaps", "services"} {
		w.Eventually("the re-creation of the "+resource+" was refused", func() error {
			refused := func(r cluster.Request) bool {
				return r.Method == http.MethodPost && r.Path == "/api/v1/namespaces/"+inner+"/"+
					resource && r.Code == http.StatusForbidden
			}
			if !slices.ContainsFunc(w.Proxy.Writes(), refused) {
				return fmt.Errorf("there are %d writes", len(w.Proxy.Writes()))
			}
			return nil
		})
	}
	w.PatchIn(kit.Secrets, inner, "holder", `{"metadata":{"finalizers":null}}`)
	w.WaitFieldIn(kit.ConfigMaps, inner, "inside", "data.key", "declared")
	w.WaitFieldIn(kit.Services, inner, "inside", "spec.selector.a", "b")
}
