package ha

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	stdlog "log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	v1alpha1 "github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
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
	broken := r.proxy.On(creates, cluster.Fail(http.StatusInternalServerError, "failed calling webhook on purpose"))
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

// administrator creates a ServiceAccount with all rights, and returns its name.
func administrator(e *kit.Env) string {
	e.Helper()
	const name = "operator"
	e.Bind("", e.Operator, "ClusterRole/cluster-admin", e.Account(e.Operator, name))
	return name
}

// A load balancer may speak HTTP/2 and nothing else.
func TestHA_FrontThatSpeaksHTTP2Only(t *testing.T) {
	t.Parallel()
	e := kit.New(t, kit.Shared)
	config, err := kit.Shared.ServiceAccountConfig(e.Ctx, e.Operator, administrator(e))
	check.NoError(t, err)
	target, err := url.Parse(config.Host)
	check.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(config.CAData)
	behind := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			ForceAttemptHTTP2: true},
		FlushInterval: -1,
		ErrorLog:      stdlog.New(io.Discard, "", 0),
	}
	var others atomic.Int32
	front := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			others.Add(1)
			http.Error(w, "only HTTP/2", http.StatusHTTPVersionNotSupported)
			return
		}
		behind.ServeHTTP(w, r)
	}))
	front.EnableHTTP2 = true
	front.TLS = &tls.Config{NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12}
	front.Config.ErrorLog = stdlog.New(io.Discard, "", 0)
	front.StartTLS()
	t.Cleanup(front.Close)

	kit.StartOperator(t, &rest.Config{
		Host: front.URL, BearerToken: config.BearerToken,
		TLSClientConfig: rest.TLSClientConfig{CAData: kit.CertificateOf(front)},
	}, e.Operator, elected(longLease))
	locked(e, "app")
	reverts(e, "app", "tampered")
	e.WaitReady("app", 1)
	n := others.Load()
	check.That(t, n <= 0, "%d requests by another version of HTTP", n)
}

// A connection may break when a request is sent: the API server restarts, or a load balancer has closed an idle
// connection. That is no refusal.
func TestHA_BrokenConnectionIsNoRefusal(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		action cluster.Action
		times  int32
	}{
		"once":                            {cluster.Drop(), 1},
		"again and again":                 {cluster.Drop(), 7},
		"when the revert has been made":   {cluster.DropAnswer(), 1},
		"when it has been made, for long": {cluster.DropAnswer(), 7},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := kit.New(t, kit.Shared)
			r := startReplica(e, elected(longLease))
			locked(e, "app")
			var broken atomic.Int32
			r.proxy.Intercept(func(request *http.Request) cluster.Action {
				if cluster.ForResource("configmaps", http.MethodPatch)(request) && broken.Add(1) <= test.times {
					return test.action
				}
				return cluster.Forward()
			})
			reverts(e, "app", "tampered")
			e.WaitReady("app", 1)
			log := r.Log()
			check.That(t, !strings.Contains(log, "refused"), "the operator says that a revert was refused")
			events, err := e.Kube.CoreV1().Events("").List(e.Ctx,
				metav1.ListOptions{FieldSelector: "reason=" + v1alpha1.ReasonRevertFailed})
			check.NoError(t, err)
			for _, event := range events.Items {
				check.That(t, event.InvolvedObject.Namespace != e.Apps && event.InvolvedObject.Namespace != e.Operator,
					"event: %s", event.Message)
			}
			reverts(e, "app", "tampered again")
			check.That(t, broken.Load() != 0, "no connection was broken")
		})
	}
}
