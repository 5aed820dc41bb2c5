package ha

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/rancher/helm-locker/pkg/crd"
	"github.com/rancher/helm-locker/tests/lib/check"
	"github.com/rancher/helm-locker/tests/lib/cluster"
	"github.com/rancher/helm-locker/tests/lib/kit"
)

// Not parallel: the shared API server is restarted, and etcd is compacted. The operators cannot resume their watches
// from before the outage: the answer is 410 Gone.
func TestHA_RestartOfTheAPIServerAfterACompaction(t *testing.T) {
	e := kit.New(t, kit.Shared)
	replicas := []*replica{startReplica(e, elected(longLease)), startReplica(e, elected(longLease))}
	locked(e, "app")
	locked(e, "other")
	var mend []func()
	for _, r := range replicas {
		mend = append(mend, r.proxy.Intercept(func(*http.Request) cluster.Action { return cluster.Drop() }))
		r.proxy.CutWatches(nil)
	}
	e.Patch(kit.ConfigMaps, "app", `{"data":{"key":"tampered"}}`)
	e.Delete(kit.ConfigMaps, "other")
	check.NoError(t, kit.Shared.CompactEtcd(t.Context()))
	check.NoError(t, kit.Shared.RestartAPIServer(t.Context()))
	for i, r := range replicas {
		r.proxy.Reset()
		mend[i]()
	}
	e.WaitField(kit.ConfigMaps, "app", "data.key", "declared")
	e.WaitField(kit.ConfigMaps, "other", "data.key", "declared")
	reverts(e, "app", "tampered again")
	e.WaitReady("app", 1)
	for i, r := range replicas {
		e.Eventually(fmt.Sprintf("replica %d began its watch anew", i), func() error {
			for _, request := range r.proxy.Requests() {
				if request.Resource() == "configmaps" &&
					(request.Query.Get("sendInitialEvents") != "" || request.Query.Get("watch") == "") {
					return nil
				}
			}
			return errors.New("it did not")
		})
	}
	check.Equal(t, len(kit.ObjectWrites(replicas[0].proxy))*len(kit.ObjectWrites(replicas[1].proxy)), 0,
		"both replicas wrote to objects")
}

// An overloaded API server sends the time of the next attempt. All requests are refused three times, the watches too.
func TestHA_RefusedRequestsAreMadeAgainWhenTheServerAllows(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]cluster.Action{
		"429": {Status: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests, Message: "on purpose",
			RetryAfter: 1},
		"503": {Status: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable,
			Message: "on purpose", RetryAfter: 1},
		"500": {Status: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError, Message: "on purpose"},
		"504": {Status: http.StatusGatewayTimeout, Reason: metav1.StatusReasonTimeout, Message: "on purpose"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := kit.New(t, kit.Shared)
			r := startReplica(e, elected(longLease))
			locked(e, "app")
			locked(e, "other")
			var mu sync.Mutex
			refused := map[string]int{}
			r.proxy.Reset()
			r.proxy.Intercept(func(request *http.Request) cluster.Action {
				mu.Lock()
				defer mu.Unlock()
				what := fmt.Sprint(request.Method, request.URL.Path, cluster.IsWatch(request))
				if refused[what]++; refused[what] <= 3 {
					return refusal
				}
				return cluster.Forward()
			})
			r.proxy.CutWatches(nil)
			e.Patch(kit.ConfigMaps, "app", `{"data":{"key":"tampered"}}`)
			e.Delete(kit.ConfigMaps, "other")
			e.WaitField(kit.ConfigMaps, "app", "data.key", "declared")
			e.WaitField(kit.ConfigMaps, "other", "data.key", "declared")
			e.WaitReady("app", 1)
			if refusal.RetryAfter == 0 {
				return
			}
			var last time.Time
			patches := 0
			for _, request := range r.proxy.Requests() {
				if request.Method != http.MethodPatch || !strings.HasSuffix(request.Path, "/configmaps/app") {
					continue
				}
				if patches++; !last.IsZero() && request.Time.Sub(last) < time.Duration(refusal.RetryAfter)*time.Second {
					t.Errorf("asked again after %s, told to wait for %d s", request.Time.Sub(last), refusal.RetryAfter)
				}
				last = request.Time
			}
			check.That(t, patches == 4, "%d patches, want 3 that are refused and one more", patches)
		})
	}
}

// The token of a pod is replaced in its file before it expires. An expired one is answered with 401.
func TestHA_TokenIsReplaced(t *testing.T) {
	t.Parallel()
	e := kit.New(t, kit.Shared)
	name := administrator(e)
	token := func() string {
		config, err := kit.Shared.ServiceAccountConfig(e.Ctx, e.Operator, name)
		check.NoError(t, err)
		return config.BearerToken
	}
	var expired atomic.Pointer[string]
	var unauthorized atomic.Int32
	var renewed atomic.Bool
	proxy := e.NewProxy()
	proxy.Intercept(func(r *http.Request) cluster.Action {
		old := expired.Load()
		if old == nil {
			return cluster.Forward()
		}
		if r.Header.Get("Authorization") == "Bearer "+*old {
			unauthorized.Add(1)
			return cluster.Fail(http.StatusUnauthorized, "Unauthorized")
		}
		renewed.Store(true)
		return cluster.Forward()
	})
	file := filepath.Join(t.TempDir(), "token")
	write := func(content string) {
		check.NoError(t, os.WriteFile(file, []byte(content), 0o600))
	}
	first := token()
	write(first)
	config := proxy.Via(&rest.Config{Host: "replaced", BearerTokenFile: file,
		TLSClientConfig: rest.TLSClientConfig{CAData: proxy.RESTConfig().CAData}})
	kit.StartOperator(t, config, e.Operator, elected(longLease))
	locked(e, "app")
	e.Until("the creation is proven, for which the operator needs a token", func() (any, bool) {
		requests := proxy.Requests()
		created := slices.IndexFunc(requests, func(r cluster.Request) bool {
			return r.Resource() == "configmaps" && r.Method == http.MethodPost && r.Code == http.StatusCreated
		})
		return requests, created >= 0 && slices.ContainsFunc(requests[created:], func(r cluster.Request) bool {
			done := r.Code == http.StatusOK || r.Code == http.StatusCreated // the first fence is created
			return done && kit.ProvesWrite(r, "app")
		})
	})

	// client-go caches the file's content for 50 seconds.
	second := token()
	write(second)
	expired.Store(&first)
	proxy.CutWatches(nil)
	e.Patch(kit.ConfigMaps, "app", `{"data":{"key":"tampered"}}`)
	e.Until("the operator has the new token", func() (any, bool) { return unauthorized.Load(), renewed.Load() })
	check.That(t, unauthorized.Load() != 0, "no request was made with the expired token")
	e.WaitField(kit.ConfigMaps, "app", "data.key", "declared")
	reverts(e, "app", "tampered again")
	e.WaitReady("app", 1)
}

// Not parallel: the shared CustomResourceDefinition is replaced.
func TestHA_DefinitionIsReplaced(t *testing.T) {
	e := kit.New(t, kit.Shared)
	definitions, err := apiextensions.NewForConfig(kit.Shared.RESTConfig())
	check.NoError(t, err)
	const name = "helmreleases.helm.cattle.io"
	crds := definitions.ApiextensionsV1().CustomResourceDefinitions()
	startReplica(e)
	locked(e, "app")
	reinstall := func() {
		check.NoError(t, crd.Create(e.Ctx, kit.Shared.RESTConfig()))
	}
	defer reinstall() // for the other tests, whatever comes of this one

	t.Run("deleted and created again", func(t *testing.T) {
		e := e.For(t)
		e.Kubectl("delete", "crd", name)
		check.That(t, e.Get(kit.ConfigMaps, "app") != nil, "what the release has was deleted with the HelmRelease")
		reinstall()
		e.Patch(kit.ConfigMaps, "app", `{"data":{"key":"edited while nothing was locked"}}`)
		e.Lock("app")
		e.WaitField(kit.ConfigMaps, "app", "data.key", "declared")
		reverts(e, "app", "tampered")
	})
	t.Run("stores another version", func(t *testing.T) {
		e := e.For(t)
		e.Eventually("the definition stores another version", func() error {
			d, err := crds.Get(e.Ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			next := *d.Spec.Versions[0].DeepCopy()
			next.Name = "v1beta1"
			d.Spec.Versions[0].Storage = false
			d.Spec.Versions = append([]apiextensionsv1.CustomResourceDefinitionVersion{next}, d.Spec.Versions...)
			_, err = crds.Update(e.Ctx, d, metav1.UpdateOptions{})
			return err
		})
		reverts(e, "app", "tampered")
		e.Forge(kit.ForgedRecord{Name: "app", Revision: 2, Manifest: kit.ConfigMap("app", "declared")})
		e.WaitReady("app", 2)
		reverts(e, "app", "tampered again")
		locked(e, "later")
		reverts(e, "later", "tampered")
		e.Kubectl("delete", "crd", name)
	})
}
