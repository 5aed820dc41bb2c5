package metrics

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"github.com/rancher/helm-locker/pkg/apis/helm.cattle.io/v1alpha1"
	"github.com/rancher/helm-locker/pkg/release"
	"github.com/rancher/helm-locker/tests/lib/check"
)

var shop = release.Key{Namespace: "apps", Name: "shop"}

func TestForgetLeavesNothingOfARelease(t *testing.T) {
	m := New("v1", "abc")
	m.Drift(shop, "Deployment", "Refused", time.Second, false)
	m.Contended(shop, "Deployment")
	m.Yielded(shop)
	m.Release(shop, State{Name: "Deployed", Locked: true, Objects: v1alpha1.ObjectCounts{Tracked: 2},
		Conditions: map[string]bool{"Ready": true}})
	m.Forget(shop)
	families, err := m.registry.Gather()
	check.NoError(t, err)
	for _, f := range families {
		for _, sample := range f.GetMetric() {
			for _, l := range sample.GetLabel() {
				check.That(t, l.GetName() != "release", "%s still has %s", f.GetName(), l.GetValue())
			}
		}
	}
}

// Two operators in one process have nothing in common, and nothing is in Prometheus' default registry.
func TestNothingIsGlobal(t *testing.T) {
	a, b := New("v1", "abc"), New("v1", "abc")
	a.Yielded(shop)
	a.Queues().NewAddsMetric("drift").Inc()
	check.That(t, testutil.CollectAndCount(b.releases) == 0 && testutil.CollectAndCount(b.queue.adds) == 0,
		"one operator's metrics are another's")
	families, err := prometheus.DefaultGatherer.Gather()
	check.NoError(t, err)
	for _, f := range families {
		check.That(t, !strings.HasPrefix(f.GetName(), namespace), "%s is in the default registry", f.GetName())
	}
}

// An embedding program collects the metrics in its own registry, beside those of Go that it has already.
func TestMetricsOfAnEmbeddedOperatorAreCollectedByItsProgram(t *testing.T) {
	m, program := New("v1", "abc"), prometheus.NewRegistry()
	program.MustRegister(collectors.NewGoCollector(), m.Collector())
	m.Handler()
	m.Yielded(shop)
	families, err := program.Gather()
	check.NoError(t, err)
	own := func(f *dto.MetricFamily) bool { return strings.HasPrefix(f.GetName(), namespace) }
	check.That(t, slices.ContainsFunc(families, own), "no metric of the operator in %v", families)
	check.That(t, program.Unregister(m.Collector()), "the metrics stay when the operator has ended")
}

func TestClassify(t *testing.T) {
	for line, want := range map[string]request{
		"GET /api":                          {"get", "discovery", ""},
		"GET /apis/apps/v1":                 {"get", "discovery", ""},
		"GET /openapi/v3":                   {"get", "discovery", ""},
		"GET /api/v1/namespaces":            {"list", "objects", "namespaces"},
		"GET /api/v1/namespaces/a":          {"get", "objects", "namespaces"},
		"PUT /api/v1/namespaces/a/finalize": {"update", "objects", "namespaces"},
		"GET /api/v1/namespaces/a/secrets/sh.helm.release.v1.shop.v2":               {"get", "records", "secrets"},
		"GET /api/v1/namespaces/a/secrets/mine":                                     {"get", "objects", "secrets"},
		"GET /api/v1/secrets?fieldSelector=type%3Dhelm.sh%2Frelease.v1&watch=true":  {"watch", "records", "secrets"},
		"GET /api/v1/namespaces/a/secrets?labelSelector=name%3Dshop%2Cowner%3Dhelm": {"list", "records", "secrets"},
		"GET /apis/apps/v1/deployments?watch=1":                                     {"watch", "objects", "deployments.apps"},
		"PATCH /apis/apps/v1/namespaces/a/deployments/web":                          {"patch", "objects", "deployments.apps"},
		"APPLY /apis/apps/v1/namespaces/a/deployments/web":                          {"apply", "objects", "deployments.apps"},
		"DELETE /apis/apps/v1/namespaces/a/deployments/web":                         {"delete", "objects", "deployments.apps"},
		"DELETE /apis/apps/v1/namespaces/a/deployments":                             {"deletecollection", "objects", "deployments.apps"},
		"POST /api/v1/namespaces/a/events":                                          {"create", "events", "events"},
		"PUT /apis/coordination.k8s.io/v1/namespaces/a/leases/l":                    {"update", "leases", "leases.coordination.k8s.io"},
		"PATCH /apis/helm.cattle.io/v1alpha1/namespaces/a/helmreleases/b/status": {"patch", "helmreleases",
			"helmreleases.helm.cattle.io"},
		"BREW /api/v1/pots": {"other", "objects", "pots"},
	} {
		method, url, _ := strings.Cut(line, " ")
		r := httptest.NewRequest(method, url, nil)
		if method == "APPLY" {
			r.Method = http.MethodPatch
			r.Header.Set("Content-Type", "application/apply-patch+yaml")
		}
		check.Equal(t, classify(r), want, "%v", line)
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestRequestsAndWatchesAreCounted(t *testing.T) {
	m := New("v1", "abc")
	rt := m.RoundTripper(transport(func(r *http.Request) (*http.Response, error) {
		switch r.URL.Path {
		case "/api/v1/namespaces/a/configmaps/lost":
			return nil, errors.New("connection refused")
		case "/api/v1/namespaces/a/configmaps/stale":
			return &http.Response{StatusCode: http.StatusConflict, Body: http.NoBody}, nil
		}
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(""))}, nil
	}))
	do := func(ctx context.Context, url string) io.Closer {
		response, err := rt.RoundTrip(httptest.NewRequest(http.MethodGet, url, nil).WithContext(ctx))
		if err != nil {
			return io.NopCloser(nil)
		}
		return response.Body
	}
	expect := func(what string, c prometheus.Collector, want float64) {
		t.Helper()
		check.Equal(t, testutil.ToFloat64(c), want, "%v", what)
	}
	ctx, cancel := context.WithCancel(t.Context())
	do(ctx, "/api/v1/namespaces/a/configmaps/lost")
	do(ctx, "/api/v1/namespaces/a/configmaps/stale")
	expect("unanswered", m.api.requests.WithLabelValues("get", "objects", "none"), 1)
	expect("conflict", m.api.requests.WithLabelValues("get", "objects", "409"), 1)

	first := do(ctx, "/api/v1/configmaps?watch=true")
	second := do(ctx, "/api/v1/configmaps?watch=true")
	expect("open watches", m.api.watches, 2)
	for range 2 { // closing twice is one end
		check.NoError(t, first.Close())
	}
	expect("open watches after one ended", m.api.watches, 1)
	expect("restarts after one ended", m.api.restarts, 1)
	cancel()
	check.NoError(t, second.Close())
	expect("restarts after one was given up", m.api.restarts, 1)
	expect("open watches in the end", m.api.watches, 0)
}
