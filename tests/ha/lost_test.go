package ha

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// After an error of the API server, a creation may have created the object or not. After the end of the release, an
// object of its name belongs to another user, unless Helm's manager made it and its annotations name the release.
func TestI2_CreationThatFailedTakesNobodysObjectBack(t *testing.T) {
	t.Parallel()
	t.Run("a person's", func(t *testing.T) {
		t.Parallel()
		creationThatFailed(t, func(e *kit.Env) {
			_, err := e.Kube.CoreV1().ConfigMaps(e.Apps).Create(e.Ctx, &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: "app"}, Data: map[string]string{"key": "another's"},
			}, metav1.CreateOptions{})
			check.NoError(e, err)
		})
	})
	t.Run("another release's", func(t *testing.T) {
		t.Parallel()
		creationThatFailed(t, func(e *kit.Env) {
			e.Helm(kit.Shared.Helm3(), "install", "other", e.Chart("other", kit.ConfigMap("app", "another's")))
		})
	})
}

// creationThatFailed has the operator re-create an object while Helm uninstalls its release. Then another user makes an
// object of the same name, and the creation fails. The other user's object has to stay.
func creationThatFailed(t *testing.T, other func(*kit.Env)) {
	t.Helper()
	e := kit.New(t, kit.Shared)
	r := startReplica(e)
	fence := &kit.Fence{}
	fence.Lock(e)
	e.Installed(kit.Shared.Helm3(), "app", kit.ConfigMap("app", "declared")+kit.ConfigMap("base", "declared"))
	creates := cluster.ForResource("configmaps", http.MethodPost)
	creation := r.proxy.HoldRequests(creates)
	broken := r.proxy.Intercept(func(request *http.Request) cluster.Action {
		if !creates(request) {
			return cluster.Forward()
		}
		return cluster.Fail(http.StatusInternalServerError, metav1.StatusReasonInternalError,
			"failed calling webhook on purpose")
	})
	e.Delete(kit.ConfigMaps, "app")
	e.WaitHeld(creation, 1)
	e.Helm(kit.Shared.Helm3(), "uninstall", "app")
	other(e)
	made := e.Get(kit.ConfigMaps, "app")
	r.proxy.Reset()
	creation.Release()
	looked := func(request cluster.Request) bool {
		return request.Method == http.MethodGet && strings.HasSuffix(request.Path, "/configmaps/app") &&
			request.Code == http.StatusOK
	}
	e.Until("the operator has looked at what exists", func() (any, bool) {
		return "it has not", slices.ContainsFunc(r.proxy.Requests(), looked)
	})
	broken()
	fence.Pass(e)
	r.Stop()
	got := e.Get(kit.ConfigMaps, "app")
	check.That(t, got != nil && got.GetUID() == made.GetUID() && kit.Field(got, "data.key") == "another's",
		"the object of another user became %v", got)
}
